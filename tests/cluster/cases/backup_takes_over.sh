# SPDX-License-Identifier: BSD-3-Clause
# A backup slurmctld takes over, gives back and takes over again. It backfills each time, and the controller
# runs where Slurm does. A cluster of stock Slurm does the same at the same time, to tell Slurm's faults from
# ringrt's.
# seconds: 400
only_with plugin "the controller is inside of slurmctld; two_daemons tells of two ringrtd"

pair=
two_take_overs() { # NAME CLUSTER_OPTION
    local name=$1
    pair=$("$cluster" start --backup --plugin-dir "$plugins" "$2" --nodes 1) || fail "no second cluster"
    trap '"$cluster" stop "$pair"' EXIT
    . "$pair/env"
    is_up() { timeout 20 scontrol ping | grep -q "at $1 is UP"; }
    has_thread() { grep -q "$1" /proc/"$("$cluster" daemon "$pair" pid backup)"/task/*/comm; }
    take_over() {
        "$cluster" daemon "$pair" kill slurmctld
        wait_for 90 "answer from the backup" answers
        [ "$name" = stock ] || wait_for 20 "controller in the backup" has_thread sched_doubling
        wait_for 20 "backfill in the backup, take-over $1" has_thread bckfl
    }
    wait_for 30 "primary" is_up first
    wait_for 30 "backup" is_up second
    sleep 2
    has_thread bckfl && fail "the backup backfills while the primary does"
    take_over 1
    "$cluster" daemon "$pair" start slurmctld
    # From 24.11 on the backup waits 29 s for its own answer to the primary before it gives back.
    wait_for 90 "primary back" is_up first
    wait_for 30 "backup back" is_up second
    sleep 3
    has_thread bckfl && fail "the backup still backfills while the primary does"
    take_over 2
}

(two_take_overs stock --no-malleable) >"$work/stock.log" 2>&1 &
stock=$!
(two_take_overs malleable --malleable)
status=$?
wait $stock || { sed 's/^#* */# stock Slurm: /' "$work/stock.log"; exit 1; }
exit $status

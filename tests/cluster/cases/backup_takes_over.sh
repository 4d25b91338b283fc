# SPDX-License-Identifier: BSD-3-Clause
# A backup slurmctld that takes over, gives back and takes over again backfills each time. Two hosts
# are two names here, each in a name space of its own.
# shellcheck disable=SC2016 # for the shell in there
unshare --uts --mount sh -c 'hostname first && mount --bind /dev/null /etc/hosts' 2>/dev/null ||
    { note "skipped: no name spaces with names of one's own here"; exit 77; }
pair=$("$cluster" start --plugin-dir "$plugins" --malleable --nodes 1) || fail "no second cluster"
first='' second=''
clean_up() {
    kill -KILL $first $second 2>/dev/null
    "$cluster" stop "$pair"
}
trap clean_up EXIT
. "$pair/env"
"$cluster" daemon "$pair" term slurmctld
sed -i 's/^SlurmctldHost=.*/SlurmctldHost=first(127.0.0.1)\nSlurmctldHost=second(127.0.0.2)\nCommunicationParameters=NoCtldInAddrAny/' \
    "$pair/slurm.conf"
printf '127.0.0.1 localhost first\n127.0.0.2 second\n' >"$pair/hosts"
# Else the one would end the other, by the file of its process.
sed "s,\(PidFile\|LogFile\)=$pair/\(run\|log\)/slurmctld,\1=$pair/\2/second," "$pair/slurm.conf" >"$pair/second.conf"

start_as() { # NAME CONF
    SLURM_CONF=$2 setsid unshare --uts --mount sh -c \
        'hostname "$1"; mount --bind "$2" /etc/hosts; exec slurmctld -D -f "$3"' - "$1" "$pair/hosts" "$2" \
        </dev/null >>"$pair/log/$1.out" 2>&1 &
}
is_up() { timeout 5 scontrol ping | grep -q "at $1 is UP"; }
backfills() { grep -q bckfl /proc/"$second"/task/*/comm; }
take_over() {
    { kill -KILL "$first" && wait "$first"; } 2>/dev/null
    wait_for 60 "answer from the backup" answers
    wait_for 10 "controller in the backup" grep -q sched_doubling /proc/"$second"/task/*/comm
    sleep 2
    backfills || fail "the backup does not backfill, take-over $1"
}

start_as first "$pair/slurm.conf"
first=$!
wait_for 30 "primary" is_up first
start_as second "$pair/second.conf"
second=$!
wait_for 30 "backup" is_up second
sleep 2
backfills && fail "the backup backfills beside the primary"
take_over 1
start_as first "$pair/slurm.conf"
first=$!
wait_for 30 "primary back" is_up first
wait_for 30 "backup back" is_up second
sleep 3
take_over 2

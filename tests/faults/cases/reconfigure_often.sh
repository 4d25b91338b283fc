# SPDX-License-Identifier: BSD-3-Clause
# scontrol reconfigure a hundred times during resizes: no job and no step is lost (F28). From 23.11 on each
# reconfigure starts a new slurmctld. If they follow within a second of each other, none lives long enough to
# start a job, also on stock Slurm: a job requeued meanwhile waits for the last one. So the case judges how
# soon after the last one the job runs at its new size. Stock slurmctld 22.05 reads AuthInfo without a lock.
# While it rereads slurm.conf, a request may use munge's default socket, where this cluster's munged does not
# listen, and the job's srun is refused.
log_began=$(wc -l <"$dir/log/slurmctld.log")
munge_missed() { tail -n "+$((log_began + 1))" "$dir/log/slurmctld.log" | grep -q 'Munge decode failed: Failed to access "/'; }
trap '[ $? = 0 ] || ! munge_missed || { note "skipped: slurmctld looked for munged at its default socket (stock Slurm 22.05)"; exit 77; }' EXIT

saves() { grep -c '^save' "$directory/log" 2>/dev/null; }
has_saved() { [ "$(saves)" -gt "$1" ]; }
now_ms() { date +%s%3N; }
times=0 longest_ms=0 dead=0
# A slurmd of 24.11 may end silently if requests follow each other closely (also on stock Slurm).
start_dead_nodes() {
    local name
    for name in n1 n2 n3 n4; do
        "$cluster" daemon "$dir" pid $name >/dev/null && continue
        dead=$((dead + 1))
        "$cluster" daemon "$dir" start $name
    done
}

# CMD triggers a resize to GPUS.
reconfigure_while() { # GPUS CMD...
    local gpus=$1 before i began
    before=$(saves)
    shift
    "$@"
    wait_for 30 "save for $gpus GPUs" has_saved "$before"
    for ((i = 0; i < 25; i++)); do
        timeout 10 scontrol reconfigure && times=$((times + 1))
        sleep 0.2
    done
    start_dead_nodes
    began=$(now_ms)
    wait_for 60 "$gpus GPUs" runs_with "$job" "$gpus"
    began=$(($(now_ms) - began))
    [ $began -lt $longest_ms ] || longest_ms=$began
}

start_job busy --malleable=1:16 -- 100000 100
wait_for 30 "start" runs_with "$job" 16
for _ in 1 2; do
    reconfigure_while 8 rigid 8 300 -N2
    reconfigure_while 16 timeout 10 scancel -n rigid
done
answers || fail "slurmctld does not answer"
was_resized() { [ "$(count_events "$job" resized)" = "$1" ]; }
wait_for 20 "word of four resizes" was_resized 4
check_steps
note "measured: $times reconfigurations; it ran at most $longest_ms ms after the last of 25, $dead slurmd died"
# Slurm's tick is a second, the controller's start another, and its release comes two after the job has left.
[ $longest_ms -lt 15000 ] || fail "it ran again $longest_ms ms after the last reconfiguration"
injected "$times"

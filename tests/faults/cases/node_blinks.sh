# SPDX-License-Identifier: BSD-3-Clause
# A node is DOWN for a moment, as when an administrator frees it, and returns before any pass sees it. Slurm
# requeues its jobs at once while their old processes still run. A job must not start while its old run lives,
# which crashed slurmctld in a soak (I1, F31).
cat >"$work/blinks.sh" <<'BATCH'
#!/bin/bash
echo "start $(date +%s)" >>"$1/log.plain"
srun sleep 1000
BATCH
chmod +x "$work/blinks.sh"
directory=$work/blinks
mkdir -p "$directory"
job=$(timeout 20 sbatch --parsable --malleable=1:2 --open-mode=append -o "$directory/out" "$work/blinks.sh" "$directory") ||
    fail "sbatch refused it"
lines_are() { [ "$(wc -l <"$directory/log.plain" 2>/dev/null)" = "$1" ]; }
for times in 1 2; do
    wait_for 90 "start" lines_are "$times"
    sleep 3
    node=$(squeue -h -j "$job" -o %N)
    blinked=$(date +%s)
    timeout 10 scontrol update nodename="$node" state=down reason="test of a blink"
    timeout 10 scontrol update nodename="$node" state=resume
    wait_for 90 "next start" lines_are $((times + 1))
    began=$(sed -n '$s/start //p' "$directory/log.plain")
    note "measured: started again $((began - blinked)) s after the blink, on $(squeue -h -j "$job" -o %N)"
    [ $((began - blinked)) -ge 15 ] || fail "the job was started while parts of its old run may be left"
done
has_event "$job" launch_failed && fail "a launch failed: the job was started while parts of its old run were left"
answers || fail "slurmctld does not answer"
injected 2

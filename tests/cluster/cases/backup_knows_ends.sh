# SPDX-License-Identifier: BSD-3-Clause
# A job has ended with 0, and the primary is killed before it has saved that. The backup, which has other
# logs, records the job as running. It must complete the job again and never run it again.
# seconds: 300
only_with plugin "the controller is inside of slurmctld; two_daemons tells of two ringrtd"
pair=$("$cluster" start --backup --plugin-dir "$plugins" --malleable --yaml "$work/malleable.yaml" --conf SlurmctldTimeout=5) ||
    fail "no second cluster"
trap '"$cluster" stop "$pair"' EXIT
. "$pair/env"
dir=$pair
cat >"$work/until.sh" <<'END'
#!/bin/bash
echo "start ${SLURM_RESTART_COUNT:-0}" >>"$1/log.plain"
until [ -e "$1/end" ]; do sleep 0.2; done
exit 0
END
chmod +x "$work/until.sh"
directory=$work/ends
mkdir -p "$directory"
job=$(timeout 20 sbatch --parsable --malleable=1:16 --gpus=16 -o /dev/null "$work/until.sh" "$directory") || fail "sbatch refused"
wait_for 30 "start" is_state "$job" RUNNING
wait_for 10 "line of the script" test -s "$directory/log.plain"
sleep 25 # three needs: the job is in the saved state; its node can be asked about it; the backup is ready
scontrol update jobid="$job" comment=changed
sleep 1 # slurmctld has saved that, and saves nothing more for five seconds
touch "$directory/end"
wait_for 20 "word of its end" has_event "$job" ended
kill_slurmctld
wait_for 90 "answer from the backup" answers
is_state "$job" RUNNING || fail "slurmctld had saved the end of the job: nothing was tried"
wait_for 60 "end of the job that had ended before" is_state "$job" COMPLETED
sleep 15 # by now Slurm alone would have started it again
is_state "$job" COMPLETED || fail "the job was COMPLETED and is $(state_of "$job")"
[ "$(wc -l <"$directory/log.plain")" = 1 ] || fail "the job ran again after it had ended with 0"

# SPDX-License-Identifier: BSD-3-Clause
# A job ends with 0 in the same second as its requeue, repeatedly and with jitter. Once COMPLETED it never
# runs again, and it never stays half ended (F25). RINGRT_TIMES: how often (default 12).
cat >"$work/ends.sh" <<'END'
#!/bin/bash
echo "start ${SLURM_RESTART_COUNT:-0}" >>"$1/log.plain"
[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || exit 0
sleep 1
sleep "0.$2"
(sleep "0.$3"; scontrol requeue "$SLURM_JOB_ID") >/dev/null 2>&1 &
disown
exit 0
END
chmod +x "$work/ends.sh"
times=${RINGRT_TIMES:-12} again=0
for ((i = 0; i < times; i++)); do
    directory=$work/ends$i
    mkdir -p "$directory"
    # scontrol's requeue has the race; libringrt's own request is sent only while the job runs.
    ids[i]=$(timeout 20 sbatch --parsable --malleable=1:2 -o /dev/null "$work/ends.sh" "$directory" $((RANDOM % 10)) 0$((RANDOM % 10))) ||
        fail "sbatch refused it"
done
all_ended() { [ "$(timeout 5 scontrol -o show job | grep -cE 'JobName=ends.sh .*JobState=COMPLETED')" = "$times" ]; }
# If the requeue came first, the job runs once more and ends.
wait_for 200 "end of all" all_ended
declare -A runs
for ((i = 0; i < times; i++)); do runs[$i]=$(wc -l <"$work/ends$i/log.plain"); done
sleep 10
for ((i = 0; i < times; i++)); do
    is_state "${ids[i]}" COMPLETED || fail "job ${ids[i]} was COMPLETED and is $(state_of "${ids[i]}")"
    [ "$(wc -l <"$work/ends$i/log.plain")" = "${runs[$i]}" ] || fail "job ${ids[i]} ran again after it had ended"
    again=$((again + runs[$i] - 1))
done
note "measured: of $times jobs that ended as they were requeued, $again requeues came first"
injected "$times"

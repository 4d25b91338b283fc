# SPDX-License-Identifier: BSD-3-Clause
# ringstat detach releases a paused job at once, and it starts when there is room. With mode: observe and mode: off no
# job is paused, and Slurm starts one that was when its start time has come.
# seconds: 300
. "$here/pause.sh"
ringstat=$(dirname "$plugins")/ringstat
[ -x "$ringstat" ] || { echo "# skipped: ringstat is not built"; exit 77; }
trap 'cp "$work/malleable.yaml" "$dir/malleable.yaml"; reload' EXIT
has_record() { timeout 10 scontrol show job "$1" | grep -q 'malleable/1'; }
start_training detached --nice=30 -- 100000 100
pause_for 600
"$ringstat" detach --wait=60 >"$work/detach.said" 2>&1 || fail "detach ended with $?: $(tail -5 "$work/detach.said")"
! has_record "$job" || fail "the paused job has its record"
is_state "$job" PENDING && is_ahead "$job" -100000 30 || fail "its start time is $(seconds_ahead "$job") s ahead"
has_field "$job" Nice 30 || fail "its nice value is $(field "$job" Nice)"
timeout 10 scancel "$short"
wait_for 60 "start without a controller" is_state "$job" RUNNING
wait_for 30 "steps" has_steps $(($(steps_done) + 5))
check_steps
clear_jobs

for mode in observe off; do
    set_yaml "$(cat "$work/malleable.yaml")"
    start_training "$mode" -- 100000 100
    pause_for 600
    set_yaml "$(sed "s/mode: act/mode: $mode/" "$work/malleable.yaml")"
    sleep 3
    is_state "$job" PENDING || fail "with mode: $mode it is $(state_of "$job")"
    timeout 10 scontrol update jobid="$job" starttime=now
    timeout 10 scancel "$short"
    wait_for 60 "start with MIN, with mode: $mode" runs_with "$job" 4
    before=$(starts)
    submit_short 5
    wait_for 20 "the short job" is_state "$short" PENDING
    sleep 6
    is_state "$job" RUNNING && has_starts "$before" || fail "paused with mode: $mode"
    check_steps
    clear_jobs
done

# SPDX-License-Identifier: BSD-3-Clause
# Eight malleable jobs each hold one GPU above MIN, and rigid jobs want all of those. The number of concurrent
# resizes never exceeds the limit. The other jobs wait and are resized in turn (F23).
set_yaml "$(sed 's/^fit_wait.*/resizes_in_flight: 3/' "$work/malleable.yaml")"
directories=()
for i in 1 2 3 4 5 6 7 8; do
    start_job "storm$i" --malleable=1:2 -- 100000 200
    directories+=("$directory") jobs+=("$job")
done
all_run() { [ "$(timeout 5 scontrol -o show job | grep -c 'JobState=RUNNING .*TresPerJob=[^ ]*gpu:2')" = 8 ]; }
wait_for 60 "eight jobs of two GPUs" all_run
sleep 3
for i in 1 2 3 4 5 6 7 8; do rigid 1 300 >/dev/null; done
most=0 end=$((SECONDS + 120))
while [ $SECONDS -lt $end ] && [ "$(timeout 5 squeue -h -t R -n rigid | wc -l)" -lt 8 ]; do
    # Counts jobs at their old size. A job that lost its place in the gap is pending like any other, delays no
    # job, and may run again while three others are asked. Jobs of earlier cases are listed too.
    now=$(timeout 10 scontrol -o show job | grep -aE 'JobState=(RUNNING|COMPLETING) ' | grep -a 'TresPerJob=[^ ]*gpu:2' |
        grep -acE 'malleable/1 .* (asked=[1-9]|state=asked)')
    [ "$now" -le $most ] || most=$now
    sleep 0.2
done
[ "$(timeout 5 squeue -h -t R -n rigid | wc -l)" = 8 ] || fail "not all rigid jobs got their GPU: $(squeue)"
[ $most -le 3 ] || fail "$most resizes were under way at once"
[ $most -ge 2 ] || fail "never more than $most at once: nothing was tried"
for directory in "${directories[@]}"; do check_steps; done
note "measured: at most $most of 8 resizes at once"
injected 8

# SPDX-License-Identifier: BSD-3-Clause
# Jobs without --malleable pause no more trainings than they need, and none in vain: not while they are held or could
# not start anyway, and not against the site's reclaim or pause.
# seconds: 400
. "$here/pause.sh"
user=nobody trainings=()
for i in $(seq 4); do
    start_job "small-$i" --malleable=4:4 --malleable-pause -- 100000 100
    trainings+=("$job")
done
all_run() { local id; for id in "${trainings[@]}"; do is_state "$id" RUNNING || return; done; }
count() { local id n=0; for id in "${trainings[@]}"; do n=$((n + $(count_events "$id" "$1"))); done; echo $n; }
paused_now() { local id n=0; for id in "${trainings[@]}"; do ! is_paused "$id" || n=$((n + 1)); done; echo $n; }
are_paused() { [ "$(paused_now)" = "$1" ]; }
each_check() { for i in $(seq 4); do directory=$work/small-$i; check_steps; done; }
wait_for 60 "start of four trainings" all_run
sleep 3

# ---- as few as possible ------------------------------------------------------------------------------
guest=$(rigid 1 8)
wait_for 60 "start of a rigid job of one GPU" is_state "$guest" RUNNING
wait_for 10 "pause of one training" are_paused 1
wait_for 60 "end of the rigid job" is_state "$guest" COMPLETED
wait_for 60 "run of all trainings" all_run
[ "$(count paused)" = 1 ] || fail "$(count paused) pauses for a job of one GPU"
sleep 3
guest=$(rigid 8 8 -N2)
wait_for 60 "start of a rigid job of two nodes" is_state "$guest" RUNNING
wait_for 10 "pause of two trainings" are_paused 2
wait_for 60 "run of all trainings" all_run
[ "$(count paused)" = 3 ] || fail "$(($(count paused) - 1)) pauses for a job of two nodes"
each_check

# ---- not in vain -------------------------------------------------------------------------------------
is_left_alone() { # WHY: nobody is asked
    local before
    before=$(count asked)
    sleep 6
    [ "$(count asked)" = "$before" ] && all_run || fail "a training was asked to pause for a rigid job $1"
}
guest=$(rigid 4 8 -N1 --hold)
is_left_alone "that is held"
scancel "$guest"
guest=$(rigid 4 8 -N1 --begin=now+100)
is_left_alone "that is to start later"
scancel "$guest"
# A job of another partition's nodes, or of a size that pauses cannot give.
scancel "${trainings[0]}" "${trainings[1]}" "${trainings[2]}"
trainings=("${trainings[3]}")
blocker=$(rigid 12 600 -N3)
wait_for 30 "start of a long rigid job" is_state "$blocker" RUNNING
guest=$(rigid 8 8 -N2)
is_left_alone "that would not start with its GPUs"
scancel "$guest"

# ---- the site's choice -------------------------------------------------------------------------------
set_yaml "$(cat "$work/malleable.yaml")
pause: never"
guest=$(rigid 4 8 -N1)
is_left_alone "with pause: never"
set_yaml "$(cat "$work/malleable.yaml")
reclaim: higher-priority"
timeout 10 scontrol update jobid="$guest" nice=2000
is_left_alone "of a lower priority, with reclaim: higher-priority"
set_yaml "$(cat "$work/malleable.yaml")"
wait_for 60 "start of the rigid job with the usual malleable.yaml" is_state "$guest" RUNNING
directory=$work/small-4
check_steps

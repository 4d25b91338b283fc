# SPDX-License-Identifier: BSD-3-Clause
# Sixteen trainings of one GPU are paused for a job that needs the whole cluster, more than may be under way at once.
# They all continue, also if slurmctld is killed while some are paused and some still leave.
# seconds: 500
. "$here/pause.sh"
user=nobody trainings=()
export PLAIN_JOB_POLL_S=2
each() { # CMD...: for each training that exists, with $job and $directory
    local name
    for name in "${trainings[@]}"; do
        job=${name%:*} directory=$work/many-${name#*:}
        "$@" || return
    done
}
runs() { is_state "$job" RUNNING && has_steps "${least:-1}"; }
rests() { is_paused "$job"; }
ends() { is_state "$job" COMPLETED; }
all() { each "$1"; }
for i in $(seq 16); do
    start_job "many-$i" --malleable=1:1 --malleable-pause -- 400 200
    trainings+=("$job:$i")
done
wait_for 90 "start of sixteen trainings" all runs
submit_short 10
wait_for 90 "pause of sixteen trainings" all rests
wait_for 30 "start of the short job" is_state "$short" RUNNING
wait_for 60 "end of the short job" is_state "$short" COMPLETED
wait_for 90 "run of sixteen trainings" all runs
each check_steps
sleep 6
submit_short 10 --begin=now+6
count_paused() { timeout 10 scontrol -o show job | grep -c 'malleable/1 .*state=paused'; }
some_paused() { [ "$(count_paused)" -ge 3 ]; }
wait_for 90 "some pauses" some_paused
kill_slurmctld
injected 1
sleep 1
start_slurmctld
short_ends() {
    resume_nodes
    is_state "$short" COMPLETED
}
wait_for 150 "end of the second short job" short_ends
wait_for 240 "end of sixteen trainings" all ends
each check_steps

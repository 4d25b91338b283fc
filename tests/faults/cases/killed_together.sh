# SPDX-License-Identifier: BSD-3-Clause
# Injects kill -9 of slurmctld while many jobs, including an array's tasks, leave for their resizes. The nodes
# report the end of jobs whose requeue slurmctld has lost. Up to 24.11.5 that takes the nodes from runs that
# it records as running (F21). No job is lost, and each does every step once. On a slow machine a job may run
# again before the kill. If slurmctld had not saved this start, Slurm itself ends the run, as any job's: the job
# then repeats what it has not saved.
# seconds: 400
crash() {
    kill_slurmctld && sleep 1
    again=$(grep -l 'restarts=[1-9]' "$work/round$round".*/log "$work/round$round.array"/*/log 2>/dev/null)
    start_slurmctld
}
ran_again() { grep -qxF "$directory/log" <<<"$again"; }
resume_nodes() {
    local drained
    drained=$(timeout 10 sinfo -h -t drain,draining,drained -N -o %N | sort -u | paste -sd,)
    [ -z "$drained" ] || { note "drained: $drained" && timeout 10 scontrol update nodename="$drained" state=resume && sleep 3; }
}
choose() { # INDEX: of a job, or of a task
    if [ "$1" -lt 4 ]; then
        job=${jobs[$1]} directory=$work/round$round.$1
    else
        job=${array}_$(($1 - 4)) directory=$work/round$round.array/$(($1 - 4))
    fi
}
saved() { [ "$(cat "$work/round$round".*/log "$work/round$round.array"/*/log 2>/dev/null | grep -c ^save)" -ge 4 ]; }
# A job that is cancelled and requeued shows as CANCELLED for a moment.
is_lost() { is_state "$job" "FAILED CANCELLED NODE_FAIL" && sleep 3 && is_state "$job" "FAILED CANCELLED NODE_FAIL"; }
over() { is_state "$job" COMPLETED || is_lost; }
jobs=() repeated=0
for round in 1 2 3; do
    resume_nodes
    for i in 0 1 2 3; do
        start_job "round$round.$i" --malleable=1:2 -- 150 100
        jobs[i]=$job
    done
    start_job "round$round.array" --malleable=1:2 --array=0-3 -- 150 100
    array=$job
    for i in 0 1 2 3 4 5 6 7; do
        choose $i
        wait_for 60 "start of job $i" is_state "$job" RUNNING
    done
    sleep 7 # they are in the saved state
    guest=$(rigid 8 6 -N2)
    wait_for 30 "four saves" saved
    sleep 0.$((round * 15))
    crash
    for i in 0 1 2 3 4 5 6 7; do
        choose $i
        wait_for 150 "end of job $i" over
        is_state "$job" COMPLETED || fail "job $i of round $round is $(state_of "$job")"
        if ran_again; then check_runs && repeated=$((repeated + 1)); else check_steps; fi
    done
    timeout 10 scancel "$guest"
    clear_jobs
done
note "$repeated of 24 jobs ran again before the kill"
note "$(grep -c 'allocated no nodes to be killed on' "$dir/log/slurmctld.log") had lost their nodes"

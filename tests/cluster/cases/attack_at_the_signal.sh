# SPDX-License-Identifier: BSD-3-Clause
#
# seconds: 400
# Hostile programs react to the resize signal: they stop themselves, crash, end, requeue again and again, hold
# or change their job, flood themselves with signals, or write a huge or a false Comment. slurmctld and the
# controller continue, another user's job on the same cluster is never touched, and pending jobs start once the
# hostile jobs are gone.
. "$here/site.sh"
site_up
cat >"$work/hostile.sh" <<'SCRIPT'
#!/bin/bash
id=$SLURM_JOB_ID
at_signal() {
    trap '' URG
    case $1 in
    stop) kill -STOP $$ ;;
    crash) kill -SEGV $$ ;;
    end) exit 0 ;;
    fail) exit 9 ;;
    requeues) for _ in $(seq 20); do scontrol requeue "$id"; done ;;
    flood) trap : URG; for _ in $(seq 30); do scancel -s URG "$id"; done ;;
    hold) scontrol hold "$id"; scontrol requeue "$id" ;;
    requeuehold) scontrol requeuehold "$id" ;;
    shrink) scontrol update jobid="$id" numnodes=1 numtasks=1; scontrol update jobid="$id" timelimit=1; scontrol requeue "$id" ;;
    later) scontrol requeue "$id"; scontrol update jobid="$id" starttime=now+1hour dependency=afterok:1 ;;
    cancel) scontrol requeue "$id" & scancel "$id" ;;
    huge) scontrol update jobid="$id" comment="$(head -c 60000 /dev/zero | tr '\0' x)"; scontrol requeue "$id" ;;
    lie) scontrol update jobid="$id" comment="ringrt/1 run=0 gpus=999999 step=99999999999 step_ms=1e-9 left=1 up=1 live=1 speed=1:1000000,16:0.001" ;;
    leave) setsid sleep 30 & exit 0 ;;
    twice) scontrol requeue "$id" & scontrol requeue "$id" & scontrol release "$id"; wait ;;
    kill) srun --overlap -n1 sleep 60 & kill -KILL $PPID ;;
    esac >/dev/null 2>&1
}
trap 'at_signal $1' URG
while :; do sleep 0.3; done
SCRIPT
chmod 755 "$work/hostile.sh"
before=$("$cluster" daemon "$dir" pid slurmctld)
user_job bob bystander --malleable=2:2 --exclude=n[1-2] -- 100000 100
bystander=$job its=$directory
wait_for 60 "run of bob's job" runs_with "$job" 2

has_none() { [ -z "$(as "$1" squeue -h --me)" ]; } # USER
has_two() { [ "$(gpus_of "$1")" = 2 ] && is_state "$1" RUNNING; }
tried=0
round() { # MANNER...: four jobs, two GPUs each
    local manner id ids=() guest
    for manner; do
        ids+=("$(as alice sbatch --parsable -J "$manner" -D / -o /dev/null --malleable=1:2 --malleable-grace=0:06 --exclude=n3 --wrap "srun $work/hostile.sh $manner")")
    done
    for id in "${ids[@]}"; do wait_for 60 "two GPUs of $*" has_two "$id"; done
    sleep 2
    guest=$(user_rigid dave 600 --gpus=4 --exclude=n3)
    for id in "${ids[@]}"; do wait_for 60 "request to each of $*" has_event "$id" asked; done
    sleep 8 # past the grace time
    answers || fail "slurmctld does not answer after $*"
    [ "$("$cluster" daemon "$dir" pid slurmctld)" = "$before" ] || fail "another slurmctld after $*"
    is_state "$bystander" RUNNING && [ "$(grep -c '^start' "$its/log")" = 1 ] || fail "bob's job was touched by $*"
    has_event "$bystander" asked && fail "bob's job was asked during $*"
    as alice scancel --me
    wait_for 60 "end of alice's jobs ($*)" has_none alice
    wait_for 60 "start of dave's job after $*" is_state "$guest" RUNNING
    timeout 10 scancel "$guest"
    wait_for 60 "its end" has_none dave
    tried=$((tried + $#))
}
round stop crash end fail
round requeues flood hold requeuehold
round shrink later cancel huge
round lie leave twice kill

# The controller is unharmed: an honest job grows and gives back.
user_job carol honest --malleable=1:4 --exclude=n3 -- 100000 100
wait_for 60 "four GPUs" runs_with "$job" 4
user_rigid dave 600 --gpus=6 --exclude=n3 >"$work/last"
wait_for 60 "start of dave's last job" is_state "$(cat "$work/last")" RUNNING
wait_for 60 "two GPUs" runs_with "$job" 2
check_steps
directory=$its
check_steps
note "measured: $tried manners"

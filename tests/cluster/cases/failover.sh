# SPDX-License-Identifier: BSD-3-Clause
# The primary is killed during a resize, the backup takes over, and the primary returns during another one.
# Afterwards each step was done once and in order, no two runs ran at once, and the job ends. RINGRT_POINTS:
# the points to try (default: all). At `unsaved` the job has left, and Slurm's saved state is from before:
# slurmctld saves it seconds later.
# seconds: 1500
only_with plugin "the controller is inside of slurmctld; two_daemons tells of two ringrtd"
points=${RINGRT_POINTS:-decision asked leaves waits unsaved released}

pair=$("$cluster" start --backup --plugin-dir "$plugins" --malleable --yaml "$work/malleable.yaml" --conf SlurmctldTimeout=5) ||
    fail "no second cluster"
clean_up() { # STATUS
    [ "$1" = 0 ] || for log in "$pair/log/slurmctld.log" "$pair/backup/log/slurmctld.log"; do
        # What it read at its start and recorded about the job, then its last lines.
        { grep -E "Recovered|state (save )?file|[Ss]aving|JobId=${job:-0} |primary|relinquish" "$log" | tail -n 7; echo ...; tail -n 4 "$log"; } |
            sed "s|^|# ${log#"$pair"/}: |"
    done
    "$cluster" stop "$pair"
}
trap 'clean_up $?' EXIT
. "$pair/env"
dir=$pair

is_up() { timeout 20 scontrol ping | grep -q "at $1 is UP"; }
nobody_is_down() { [ -z "$(timeout 10 sinfo -h -N -t down -o %N)" ]; }
# As an administrator does after checking why slurmctld drained them ("Duplicate jobid").
resume_nodes() {
    local drained
    drained=$(timeout 10 sinfo -h -t drain,draining,drained,down -N -o %N | sort -u | paste -sd,)
    [ -z "$drained" ] || { note "drained: $drained" && timeout 10 scontrol update nodename="$drained" state=resume; }
}
has_start() { [ "$(starts)" -ge "$1" ]; }
goes_on() { # WHEN
    wait_for 120 "run $1" is_state "$job" RUNNING
    wait_for 120 "steps $1" has_steps $(($(steps_done) + 20))
}
# Waits until the resize that the guest's start or end has triggered reaches this point.
reach() { # POINT STARTS_BEFORE
    case $1 in
    decision) ;;
    asked) wait_for 30 "request" intent_is "$job" asked ;;
    leaves) wait_for 30 "save" has_line '^save' ;;
    waits | unsaved) wait_for_gap ;;
    released) wait_for 60 "start" has_start $(($2 + 1)) ;;
    esac
}

# A 22.05 backup that hands over a second time may join a thread that it has already joined, and hang
# (main_sched_fini() keeps the thread's id). From 24.11 on a backup that hands over while it runs can lose a
# running job, in stock Slurm too (doc/slurm.md). So there it is stopped first, as doc/administrator.md
# describes, unless RINGRT_HAND_OVER=1.
hands_over() { [[ $(slurmctld -V) == *\ 22.05.* ]] || [ "${RINGRT_HAND_OVER:-0}" = 1 ]; }
backup_down() { ! is_up second; }
new_backup() {
    "$cluster" daemon "$pair" start backup
    wait_for 60 "new backup" is_up second
}
primary_back() {
    if ! hands_over; then
        "$cluster" daemon "$pair" term backup
        wait_for 60 "end of the backup" backup_down
    fi
    "$cluster" daemon "$pair" start slurmctld
    wait_for 120 "primary back" is_up first
    if hands_over; then wait_for 120 "backup back" is_up second; else new_backup; fi
    wait_for 60 "answer from the primary" answers
    if [[ $(slurmctld -V) == *\ 22.05.* ]]; then
        "$cluster" daemon "$pair" term backup
        new_backup
    fi
}

one_point() { # POINT
    local began guest manner=save
    resume_nodes
    [ "$1" != asked ] || manner=ignore # otherwise it leaves before the kill
    start_job "failover-$1" --malleable=1:16 --malleable-grace=0:05 -- 900 100 $manner
    wait_for 60 "start with 16 GPUs" runs_with "$job" 16
    wait_for 20 "steps" has_steps 5
    sleep 6 # the running job is in the saved state
    began=$(starts)
    if [ "$1" = decision ]; then
        # A guest that is saved and becomes eligible now: no decision about it was made yet.
        guest=$(rigid 8 300 -N2 --begin=now+7)
        sleep 7
    else
        guest=$(rigid 8 300 -N2)
    fi
    [ "$1" != unsaved ] || { reach leaves "$began" && cp -a "$pair/state" "$work/state"; }
    reach "$1" "$began"
    kill_slurmctld
    [ "$1" != unsaved ] || cp -a "$work/state/"{job,node}_state* "$pair/state/"
    injected 1
    wait_for 120 "answer from the backup" answers
    goes_on "after the backup took over ($1)"
    timeout 20 scancel "$guest" # it is gone if it was not saved
    sleep 1.5 # the job is asked to grow again, or has just left for that
    primary_back
    goes_on "after the primary returned ($1)"
    wait_for 200 "end ($1)" has_line '^end step=900 '
    wait_for 60 "completed job ($1)" is_state "$job" COMPLETED
    sleep 6
    is_state "$job" COMPLETED || fail "the job was COMPLETED and is $(state_of "$job")"
    has_line '^superseded' && fail "two runs of the job were at work at once ($1)"
    # A run that Slurm itself has lost restarts from its last save.
    if [ "$1" = released ]; then check_runs; else check_steps; fi
    note "measured: $1: $(starts) starts of the job, $(grep -c ^save "$directory/log") saves"
    clear_jobs
}

wait_for 30 "backup" is_up second
sleep 6
# shellcheck disable=SC2086 # a list
for point in $points; do one_point "$point"; done

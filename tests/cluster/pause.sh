# SPDX-License-Identifier: BSD-3-Clause
# Shared by the cases of pausing (doc/pausing.md), which source it: a training that may be paused has all 16 GPUs of
# the cluster, and a job that runs on 16 or not at all is submitted.
# shellcheck shell=bash disable=SC2034,SC2154
lease_s=600 # how far ahead of now the start time of a paused job is, at most

# start_training NAME SBATCH_OPTIONS... -- STEPS STEP_MS [MANNER]: sets $job and $directory
start_training() {
    local name=$1
    shift
    start_job "$name" --malleable=4:16 --malleable-pause "$@"
    wait_for 40 "start with 16 GPUs" runs_with "$job" 16
    wait_for 20 "steps" has_steps 5
}
# Sets $short to a job that needs all GPUs for so many seconds.
submit_short() { # SECONDS [OPTIONS...]
    short=$(as_user sbatch --parsable -J short -o /dev/null --malleable=16:16 "${@:2}" --wrap "sleep $1") || fail "sbatch refused it"
}
field() { timeout 10 scontrol -o show job "$1" | sed -n "s/.* $2=\([^ ]*\).*/\1/p"; } # JOB NAME
has_field() { [ "$(field "$1" "$2")" = "$3" ]; }
is_paused() { is_state "$1" PENDING && intent_is "$1" paused; }
has_starts() { [ "$(starts)" = "$1" ]; }
seconds_ahead() { # JOB: how far its earliest start is ahead of now (StartTime may be what backfill expects)
    local start
    start=$(field "$1" EligibleTime)
    [ "$start" = Unknown ] && echo unknown || echo $(($(date -d "$start" +%s) - $(date +%s)))
}
is_ahead() { # JOB LEAST MOST: its start time is so many seconds ahead
    local ahead
    ahead=$(seconds_ahead "$1")
    [[ $ahead =~ ^-?[0-9]+$ ]] && [ "$ahead" -ge "$2" ] && [ "$ahead" -le "$3" ]
}
# A job of another size takes the GPUs of the training, which is paused.
pause_for() { # SECONDS [OPTIONS...]: sets $short
    submit_short "$@"
    wait_for 60 "pause" is_paused "$job"
    wait_for 40 "start of the short job" is_state "$short" RUNNING
}
resumes() { # [WHEN]: with all GPUs and with steps
    wait_for 60 "16 GPUs $*" runs_with "$job" 16
    wait_for 30 "steps $*" has_steps $(($(steps_done) + 5))
}
# As an administrator does after checking why slurmctld drained them ("Duplicate jobid": it had forgotten a start).
resume_nodes() {
    local drained
    drained=$(timeout 10 sinfo -h -t drain,draining,drained -N -o %N | sort -u | paste -sd,)
    [ -z "$drained" ] || { note "drained: $drained" && timeout 10 scontrol update nodename="$drained" state=resume; }
}

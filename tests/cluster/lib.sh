# SPDX-License-Identifier: BSD-3-Clause
# Functions of the cases of tests/cluster. Sourced by run, inside the cluster's environment ($dir).
# shellcheck shell=bash disable=SC2034,SC2154

plain_job=$here/plain_job.sh

fail() { echo "# failed: $*"; exit 1; }
note() { echo "# $*"; }

# The clock of wait_for is paused while a job is COMPLETING, for as long as Slurm alone can cause that
# (doc/slurm.md, "A job that stays COMPLETING"). A slurmstepd that did not reach slurmctld retries after 60 s.
# slurmctld notifies a node that was silent for 25 s again at its next check, every 60 s. The limit allows for
# two of those.
slow_end_s=150
is_completing() { timeout 5 squeue -h -t CG -o %i | grep -q .; }

wait_for() { # SECONDS WHAT CMD...: until CMD succeeds
    local seconds=$1 what=$2 end=$((SECONDS + $1)) looked=$SECONDS completing=0
    shift 2
    until "$@" >/dev/null 2>&1; do
        if [ $SECONDS -gt "$looked" ]; then
            [ $completing -ge $slow_end_s ] || ! is_completing || completing=$((completing + SECONDS - looked))
            looked=$SECONDS
        fi
        [ $SECONDS -lt $((end + completing)) ] || { show_cluster; fail "no $what within $seconds s"; }
        sleep 0.1
    done
    [ $completing -lt 10 ] || note "measured: a job was COMPLETING for $completing s before $what"
}
show_cluster() {
    timeout 5 squeue -o '# %i %j %T %r nodes=%D gpus=%b %N'
    timeout 5 sinfo -h -t drain,draining,drained,down -N -o '# %N %T: %E'
    # The controller's explanation of the job's state.
    local ringstat
    ringstat=$(dirname "$plugins")/ringstat
    [ -z "${job:-}" ] || [ ! -x "$ringstat" ] || timeout 5 "$ringstat" explain "$job" 2>&1 | head -12 | sed 's/^/# /'
}

# ---- jobs ----------------------------------------------------------------------------------------

# As the case's user, or root if it sets none (user=nobody), for at most user_seconds.
as_user() {
    if [ -n "${user:-}" ]; then
        timeout "${user_seconds:-20}" setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups env HOME="${directory:-/}" "$@"
    else
        timeout "${user_seconds:-20}" "$@"
    fi
}

# The largest size of the range in the sbatch option --malleable=MIN:MAX among these.
largest_size() { # OPTIONS...
    local range
    range=$(printf '%s\n' "$@" | sed -n 's/^--malleable=//p')
    local gpus=${range%%[:-]*} most=${range##*[:-]}
    while ((2 * gpus <= most)); do gpus=$((2 * gpus)); done
    echo "$gpus"
}

# start_job NAME SBATCH_OPTIONS... -- STEPS STEP_MS [MANNER]: sets $job and $directory. Unless an option gives a
# size, the script requests the largest of its range, so that the job starts with all that is free.
start_job() {
    local options=() name=$1
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    [[ " ${options[*]}" =~ \ (--gpus|--gres|--nodes|--ntasks|-N|-n) ]] || options+=("--gpus=$(largest_size "${options[@]}")")
    directory=$work/$name
    mkdir -p "$directory"
    [ -z "${user:-}" ] || chown "$user" "$directory"
    job=$(as_user sbatch --parsable -J "$name" -o "$directory/out" "${options[@]}" "$plain_job" "$directory" "$@") ||
        fail "sbatch refused $name"
}

rigid() { # GPUS SECONDS [OPTIONS...]: prints the job's number
    local gpus=$1 seconds=$2
    shift 2
    as_user sbatch --parsable -J rigid -o /dev/null --gpus="$gpus" "$@" --wrap "sleep $seconds"
}

# The gap of a resize lasts less than a second, so this polls without a pause. Like wait_for, it allows for a job
# that stays COMPLETING.
wait_for_gap() {
    local end=$((SECONDS + 30))
    until is_state "$job" PENDING; do
        [ $SECONDS -lt $end ] || { [ $SECONDS -lt $((end + slow_end_s)) ] && is_completing; } ||
            { show_cluster; fail "no gap seen within 30 s"; }
    done
}
# For a job that has all four nodes: $guest takes two of them, and $blocker, which needs no GPU, takes the
# other two in the gap of the resize. The resized job waits until $blocker is gone.
fill_gap() {
    blocker=$(timeout 20 sbatch --parsable -J blocker -o /dev/null -N2 --exclusive --nice=-1000 --wrap "sleep 300")
    guest=$(user='' rigid 8 300 -N2 --nice=-2000)
    wait_for 30 "requeue" is_state "$job" PENDING
    wait_for 30 "start of the job without a GPU" is_state "$blocker" RUNNING
}

no_jobs() { local queue; queue=$(timeout 5 squeue -h) && [ -z "$queue" ]; }
# Fails while jobs exist. A scancel may not reach a busy slurmctld, so it is repeated at intervals.
# By number: from Slurm 26.05 on, scancel rejects nobody as the name of a user.
scancel_all() { timeout 10 squeue -h -o %F | sort -u | xargs -r timeout 10 scancel; }
next_cancel=0
cancel_jobs() {
    no_jobs && return
    [ $SECONDS -lt $next_cancel ] || { scancel_all; next_cancel=$((SECONDS + 2)); }
    return 1
}
clear_jobs() { wait_for 30 "end of all jobs" cancel_jobs; }

# For a case that may not be possible here.
skip() { echo "# skipped: $*"; exit 77; }
# The example program and its training data: sets $digits and $data.
need_digits() {
    digits=$(dirname "$plugins")/digits data=$(dirname "$plugins")/digits.csv
    [ -x "$digits" ] || skip "digits is not built"
    "$here/../../contrib/examples/get-digits" "$data" || skip "the digits cannot be fetched"
}

state_of() { timeout 10 scontrol -o show job "$1" | sed -n 's/.* JobState=\([A-Z_]*\) .*/\1/p'; }
gpus_of() { timeout 10 scontrol -o show job "$1" | sed -n "s/.* TresPerJob=[^ ]*:\([0-9]*\).*/\1/p"; }
is_state() { [[ " $2 " == *" $(state_of "$1") "* ]]; }
runs_with() { is_state "$1" RUNNING && [ "$(gpus_of "$1")" = "$2" ] && [ "$(ranks_now "$1")" = "$2" ]; }

# From the job's own log, written by rank 0.
ranks_now() { sed -n 's/^start .*ranks=\([0-9]*\) .*/\1/p' "$directory/log" 2>/dev/null | tail -1; }
starts() { grep -c '^start' "$directory/log" 2>/dev/null; }
has_line() { grep -q "$1" "$directory/log" 2>/dev/null; }
steps_done() { grep -c '^step' "$directory/log" 2>/dev/null; }
has_steps() { [ "$(steps_done)" -ge "$1" ]; }

# Each step once and in order across all resizes: none lost, none done twice.
check_steps() {
    awk '$1 == "step" && $2 != last + 1 { print "# step " $2 " after " last; bad = 1 } $1 == "step" { last = $2 } END { exit bad }' \
        "$directory/log" || fail "steps were lost or done twice"
}

# For runs with hard kills: each run begins at the last save (or at a save that was killed before it was
# logged), and does each step once. A run after a hard kill repeats what was not saved. Nothing that was saved
# is ever lost.
check_runs() {
    awk '$1 == "start" { was = last; for (i = 2; i <= NF; i++) if (sub(/^step=/, "", $i)) last = $i + 0
                         if (last < saved + 0 || last > was + 0) { print "# starts at step " last ", saved was " saved + 0; bad = 1 } }
         $1 == "save" && $2 ~ /^[0-9]+$/ { saved = $2 }
         $1 == "step" { if ($2 != last + 1) { print "# step " $2 " after " last; bad = 1 }; last = $2 }
         END { exit bad }' "$directory/log" || fail "saved steps were lost, or steps left out"
}

# ---- the controller's own log -----------------------------------------------------------------------

has_event() { grep -q "\"job\":$1,\"event\":\"$2\"" "$dir/log/malleable_events.jsonl"; }
count_events() { grep -c "\"job\":$1,\"event\":\"$2\"" "$dir/log/malleable_events.jsonl"; }
intent_is() { timeout 10 scontrol -o show job "$1" | grep -q "AdminComment=.*malleable/1 .*state=$2"; }
gap_of() { sed -n "s/.*\"job\":$1,\"event\":\"resized\".*\"gap_s\":\([0-9.]*\).*/\1/p" "$dir/log/malleable_events.jsonl" | tail -1; }

# ---- the daemons -----------------------------------------------------------------------------------

answers() { timeout 5 squeue -h >/dev/null; }
kill_slurmctld() { "$cluster" daemon "$dir" kill slurmctld; }
start_slurmctld() {
    "$cluster" daemon "$dir" start slurmctld
    wait_for 30 "answer from slurmctld" answers
}

# Counted by tests/faults/run: how often the fault occurred.
injected() { echo "# injected $1"; }

# The controller's host: the plugin in slurmctld, or ringrtd ($host is plugin or daemon).
controller_daemon=slurmctld
[ "$host" = plugin ] || controller_daemon=ringrtd
controller_log=$dir/log/$controller_daemon.log
reload() { # reloads malleable.yaml and reopens the logs
    if [ "$host" = plugin ]; then timeout 10 scontrol reconfigure; else kill -HUP "$("$cluster" daemon "$dir" pid ringrtd)"; fi
}
kill_controller() { "$cluster" daemon "$dir" kill $controller_daemon; }
start_controller() {
    "$cluster" daemon "$dir" start $controller_daemon
    wait_for 30 "answer from slurmctld" answers
}
only_with() { # HOST WHY: the case is for that host
    [ "$host" = "$1" ] || { note "skipped: with --host $1 only: $2"; exit 77; }
}

times_read() { grep -cE '(sched/doubling|ringrtd): mode' "$controller_log"; }
# TEXT becomes malleable.yaml. Returns when the controller has read it, or after 10 s: a case may have stopped it.
set_yaml() {
    local before _
    before=$(times_read)
    printf '%s\n' "$1" >"$dir/malleable.yaml"
    reload
    for _ in $(seq 100); do [ "$(times_read)" -le "$before" ] || return 0; sleep 0.1; done
}
logged() { grep -q "$1" "$controller_log"; }

# From here on all of this file refers to the cluster $dir, which is another one than the case began with.
use_cluster() {
    # shellcheck disable=SC1091
    . "$dir/env"
    controller_log=$dir/log/$controller_daemon.log
    wait_for 20 "controller" logged 'mode act'
}
second_cluster() { # OPTIONS... of contrib/cluster start. It ends with the case.
    dir=$("$cluster" start --plugin-dir "$plugins" --malleable --host "$host" --yaml "$work/malleable.yaml" "$@") || fail "no second cluster"
    trap 'ended=$?; "$cluster" stop "$dir"; exit "$ended"' EXIT
    use_cluster
}

# SPDX-License-Identifier: BSD-3-Clause
# What a user does to a paused job stands: a hold, a later start time, a start now, a nice value, another size, cancel.
# seconds: 600
. "$here/pause.sh"
user=nobody
end_short() { # as its user, who no longer needs it
    timeout 10 scancel "$short"
    wait_for 30 "end of the short job" is_state "$short" CANCELLED
}
stays() { # SECONDS CMD...: it holds all the time
    local end=$((SECONDS + $1))
    while [ $SECONDS -lt $end ]; do "${@:2}" || return; sleep 0.5; done
}

# ---- held as it leaves -------------------------------------------------------------------------------
is_held() { timeout 10 squeue -h -j "$job" -o '%T %r' | grep -q '^PENDING JobHeldUser'; }
start_training leaving -- 100000 100
submit_short 600
wait_for 40 "save" has_line '^save'
as_user scontrol hold "$job" || fail "no hold"
wait_for 60 "start of the short job" is_state "$short" RUNNING
wait_for 20 "the hold" is_held
end_short
stays 5 is_held || fail "held as it left, the job is $(timeout 10 squeue -h -j "$job" -o '%T %r')"
as_user scontrol release "$job" || fail "no release"
resumes "after a hold as it left"
check_steps
clear_jobs

# ---- held: it waits for its user, not for GPUs ------------------------------------------------------
start_training held -- 100000 100
pause_for 600
as_user scontrol hold "$job" || fail "no hold"
end_short
stays 5 is_held || fail "its GPUs are free, and the held job is $(timeout 10 squeue -h -j "$job" -o '%T %r')"
as_user scontrol release "$job" || fail "no release"
resumes "after the hold"
check_steps

# ---- a nice value of its own -------------------------------------------------------------------------
pause_for 600
as_user scontrol update jobid="$job" nice=123 || fail "no nice value"
sleep 3
is_paused "$job" || fail "a nice value ended the pause: $(state_of "$job")"
end_short
resumes "with another nice value"
has_field "$job" Nice 123 || fail "its nice value is $(field "$job" Nice)"
check_steps

# ---- requeue: Slurm has nothing to requeue -----------------------------------------------------------
pause_for 600
as_user scontrol requeue "$job" 2>/dev/null
sleep 3
is_paused "$job" || fail "a requeue ended the pause: $(state_of "$job")"

# ---- start now: an ordinary pending job until it has run again ---------------------------------------
before=$(starts)
as_user scontrol update jobid="$job" starttime=now || fail "no start time"
wait_for 20 "an ordinary pending job" bash -c "! timeout 10 squeue -h -j $job -o %r | grep -q BeginTime"
stays 6 is_ahead "$job" -100000 30 || fail "its start time is $(seconds_ahead "$job") s ahead again"
end_short
resumes "started by its user"
# Slurm may have started it with MIN, before the controller has given it more.
has_starts $((before + 1)) || has_starts $((before + 2)) || fail "it started $(($(starts) - before)) times"
check_steps

# ---- a later start time ----------------------------------------------------------------------------
pause_for 600
as_user scontrol update jobid="$job" starttime=now+25 || fail "no start time"
set_at=$SECONDS
end_short
stays $((18 - SECONDS + set_at)) is_state "$job" PENDING || fail "it started before the time that its user set"
resumes "at its user's time"
check_steps

# ---- suspended: the job that has its GPUs. Nothing is free then -------------------------------------
pause_for 600
timeout 10 scontrol suspend "$job" 2>/dev/null && fail "Slurm suspended a pending job"
timeout 10 scontrol suspend "$short" || fail "no suspension"
stays 5 is_paused "$job" || fail "it resumed with the GPUs of a suspended job: $(state_of "$job")"
timeout 10 scontrol resume "$short"

# ---- cancelled ---------------------------------------------------------------------------------------
before=$(starts)
as_user scancel "$job"
wait_for 20 "its end" is_state "$job" CANCELLED
end_short
sleep 4
is_state "$job" CANCELLED && has_starts "$before" || fail "a job that was cancelled while paused is $(state_of "$job")"
check_steps

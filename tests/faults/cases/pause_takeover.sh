# SPDX-License-Identifier: BSD-3-Clause
# The primary slurmctld is killed, and a backup, which has other logs and no journal, takes over: while a job is paused,
# just after its pause, and while it leaves. The backup's controller renews its start time (the clock of all daemons is
# put forward, tests/faults/set_clock.cpp), and the primary continues to. No step is lost.
# seconds: 600
only_with plugin "the controller is inside of slurmctld; two_daemons tells of two ringrtd"
. "$here/pause.sh"
second_cluster --backup --conf SlurmctldTimeout=5
. "$here/clock.sh"
daemons+=(backup)
restart "$clock" "${daemons[@]}"
now_s() { echo $(($(date +%s) + $(cat "$RINGRT_CLOCK"))); }
begin_s() { date -d "$(field "$job" EligibleTime)" +%s; }
is_renewed() { [ "$(begin_s)" -ge $(($(now_s) + lease_s / 2 - 5)) ]; }
is_up() { timeout 20 scontrol ping | grep -q "at $1 is UP"; }
backup_controls() { grep -q sched_doubling /proc/"$("$cluster" daemon "$dir" pid backup)"/task/*/comm; }
take_over() { # SECONDS to wait until the state of now is saved
    wait_for 60 "backup" is_up second
    sleep "$1"
    kill_slurmctld
    wait_for 90 "answer from the backup" answers
    wait_for 60 "controller in the backup" backup_controls
    injected 1
}
give_back() {
    LD_PRELOAD=$clock "$cluster" daemon "$dir" start slurmctld
    wait_for 90 "primary" is_up first
    wait_for 60 "backup" is_up second
    wait_for 30 "answer from the primary" answers
}
count_events_of_backup() { grep -c "\"job\":$job,\"event\":\"$1\"" "$dir/backup/log/malleable_events.jsonl"; }
short_ends() {
    resume_nodes
    [[ $(state_of "$short") =~ ^(CANCELLED)?$ ]] # or Slurm has lost it
}
ends_well() { # WHEN
    before=$(starts)
    timeout 10 scancel "$short" 2>/dev/null
    wait_for 120 "end of the short job" short_ends
    wait_for 200 "start $1" has_starts $((before + 1))
    resumes "$1"
    check_steps
}

# ---- just after its pause: Slurm has saved neither that nor the short job -----------------------------
start_training taken -- 100000 100
pause_for 600
take_over 0
ends_well "after a pause that was not saved"
give_back

# ---- while it leaves ---------------------------------------------------------------------------------
submit_short 600
saves=$(grep -c '^save' "$directory/log")
saved_again() { [ "$(grep -c '^save' "$directory/log")" -gt "$saves" ]; }
wait_for 40 "save" saved_again
take_over 0
ends_well "after it left"
give_back

# ---- while it is paused ------------------------------------------------------------------------------
pause_for 600
before=$(starts)
take_over 6
is_paused "$job" && has_starts "$before" || fail "the backup ended its pause: $(state_of "$job")"
echo $((lease_s / 2 + 20)) >"$RINGRT_CLOCK"
wait_for 30 "renewal by the backup" is_renewed
give_back
is_paused "$job" && has_starts "$before" || fail "the primary ended its pause: $(state_of "$job")"
# The primary acts, and the backup no longer does.
ended=$(count_events_of_backup resumed)
ends_well "with the primary back"
[ "$(count_events_of_backup resumed)" = "$ended" ] || fail "the backup resumed a job after it had given back"

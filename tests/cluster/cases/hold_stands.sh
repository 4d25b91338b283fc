# SPDX-License-Identifier: BSD-3-Clause
# A user holds a job that was released for a resize and has yet to start. The lent nice value is taken back,
# and the job stays held (priority/basic releases a held job whose nice value changes).
user=nobody
nice_of() { timeout 10 scontrol -o show job "$1" | sed -n 's/.* Nice=\(-\?[0-9]*\) .*/\1/p'; }
nice_is() { [ "$(nice_of "$1")" = "$2" ]; }
is_held() { timeout 10 squeue -h -j "$1" -o '%T %r' | grep -qE "^PENDING JobHeld$2"; }
is_lent() { [ "$(nice_of "$job")" -lt 0 ]; }

for hold in User Admin; do
    start_job "held-by-$hold" --malleable=1:16 -- 100000 100
    wait_for 30 "start" runs_with "$job" 16
    wait_for 10 "steps" has_steps 5
    fill_gap
    wait_for 30 "release" is_lent
    if [ "$hold" = User ]; then as_user scontrol hold "$job"; else timeout 10 scontrol hold "$job"; fi
    wait_for 20 "own nice value" nice_is "$job" 0
    sleep 3
    is_held "$job" "$hold" || fail "held by $hold, the job is $(timeout 10 squeue -h -j "$job" -o '%T %r')"
    timeout 10 scancel "$blocker"
    sleep 3
    is_held "$job" "$hold" || fail "its nodes are free, and the job held by $hold is $(timeout 10 squeue -h -j "$job" -o '%T %r')"
    timeout 10 scontrol release "$job"
    wait_for 30 "start after the hold" runs_with "$job" 8
    check_steps
    clear_jobs
done

# SPDX-License-Identifier: BSD-3-Clause
# Two ringrtd for one cluster: one acts. The active one is killed during a resize: the other takes over at
# once, the resize ends, and nothing runs twice. Then the active one is paused (SIGSTOP) for longer than its
# lease: it does not act when it continues.
# seconds: 300
only_with daemon "sched/doubling runs once, in slurmctld"
says() { grep -q "ringrtd: $2" "$dir/log/$1.log"; }
says_last() { grep -E 'ringrtd: (active|standby)' "$dir/log/$1.log" | tail -1 | grep -q "ringrtd: $2"; }
"$cluster" daemon "$dir" start ringrtd-2
wait_for 20 "the second one's word" says ringrtd-2 'standby: ringrtd on .* (pid [0-9]*) is active'
says_last ringrtd active || fail "the first one is not active"

start_job moved --malleable=1:16 -- 100000 100
wait_for 40 "start with 16 GPUs" runs_with "$job" 16
wait_for 20 "steps" has_steps 5
guest=$(rigid 8 300 -N2)
wait_for 20 "request" has_event "$job" asked
"$cluster" daemon "$dir" kill ringrtd
killed=$(date +%s%N)
wait_for 60 "take-over" says ringrtd-2 active
took_ms=$((($(date +%s%N) - killed) / 1000000))
wait_for 60 "end of the resize" runs_with "$job" 8
wait_for 20 "the guest" is_state "$guest" RUNNING
note "measured: $took_ms ms from the kill to the other's take-over on one host"
sleep 3
check_steps
[ "$(starts)" = 2 ] || fail "the job started $(starts) times"
[ "$(grep -h '^start' "$directory/log" | wc -l)" = "$(grep -h '^start' "$directory/log" | sort -u | wc -l)" ] ||
    fail "a run began twice"

# The killed ringrtd is restarted and stands by.
"$cluster" daemon "$dir" start ringrtd
wait_for 20 "standby" says_last ringrtd 'standby: ringrtd on'
stopped=$("$cluster" daemon "$dir" pid ringrtd-2)
kill -STOP "$stopped"
began=$SECONDS
wait_for 90 "take-over from a stopped daemon" says_last ringrtd active
[ $((SECONDS - began)) -ge 30 ] || fail "taken over after $((SECONDS - began)) s: before the lease had expired"
note "measured: $((SECONDS - began)) s from a standstill to the other's take-over"
kill -CONT "$stopped"
wait_for 20 "the other's insight" says_last ringrtd-2 standby
says_last ringrtd active || fail "both are passive"
scancel "$guest"
wait_for 60 "growth by the new one" runs_with "$job" 16
check_steps
"$cluster" daemon "$dir" term ringrtd-2

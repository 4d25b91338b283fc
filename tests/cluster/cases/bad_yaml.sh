# SPDX-License-Identifier: BSD-3-Clause
# A bad file at reload: the last good configuration stays, the log names the bad line, and the controller's
# host survives (F28).
complains() { # EXPECTED TEXT
    set_yaml "$2"
    wait_for 10 "complaint \"$1\"" logged "$1"
}
complains 'malleable.yaml:2: unknown key "polcy"' $'mode: act\npolcy: doubling'
complains 'malleable.yaml:1: .*"sometimes"' 'mode: sometimes'
complains 'malleable.yaml:1: expected key: value, got a list' '- mode'
complains 'malleable.yaml:1: nested too deep (limit 16)' "$(head -c 50000 /dev/zero | tr '\0' '[')"
complains 'malleable.yaml:1: longer than 65536 bytes' "$(head -c 100000 /dev/zero | tr '\0' ' ')"
complains 'malleable.yaml:2: expected a plain value, got an alias' $'mode: &a act\npolicy: *a'
complains 'malleable.yaml:2: key "mode" is given a second time' $'mode: act\nmode: observe'
# Since Slurm 23.11 `scontrol reconfigure` restarts slurmctld, which reads the accepted copy.
grep -Eq 'the (previous|last accepted) configuration stays' "$controller_log" || fail "the last good one did not stay"
start_job works --malleable=1:8 -- 100000 100
wait_for 30 "start: the last good configuration works" runs_with "$job" 8
# logrotate: the log file is renamed, and the host reloads its configuration.
mv "$dir/log/malleable_events.jsonl" "$dir/log/rotated"
reload
wait_for 10 "new event log" [ -e "$dir/log/malleable_events.jsonl" ]
# A host that starts with a bad file:
sleep 6 # Slurm saves its state every five seconds: the job is in it
kill_controller
start_controller
wait_for 10 "word of the accepted copy" logged 'the last accepted configuration stays'

# SPDX-License-Identifier: BSD-3-Clause
# Names and comments with escape sequences, line breaks, bytes that are not UTF-8, and forged telemetry. The
# tools escape them, their JSON stays valid, and the controller continues (F43).
ringstat=$(dirname "$plugins")/ringstat
[ -x "$ringstat" ] || { note "skipped: ringstat is not built"; exit 77; }
count=0
for name in $'\e[31mred\e]0;owned\a' $'two\nlines' $'\xff\xfe\x80' '"; }{ "a":' '%n%s%x' $'rtl\u202etxt' "$(head -c 900 /dev/zero | tr '\0' A)"; do
    timeout 20 sbatch -J "$name" --comment="ringrt/1 run=0 gpus=-5 step=1e99 up=1 $name" --malleable=1:2 -o /dev/null --wrap 'sleep 300' >/dev/null ||
        fail "sbatch refused the name"
    count=$((count + 1))
done
sleep 4
for command in "" "--json" "history" "history --json" "diag" "diag --json" "explain 1" "explain --json 1"; do
    # shellcheck disable=SC2086 # words
    timeout 20 "$ringstat" $command >"$work/told" 2>&1 || [[ $command == explain* ]] || fail "ringstat $command: $(head -c 300 "$work/told")"
    LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$work/told" && fail "ringstat $command lets control characters through"
    [[ $command != *json* || $command == explain* ]] || python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$work/told" ||
        fail "ringstat $command: not JSON"
    count=$((count + 1))
done
python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$dir/log/malleable_events.jsonl" || fail "the event log is not JSON"
answers || fail "slurmctld does not answer"
injected $count

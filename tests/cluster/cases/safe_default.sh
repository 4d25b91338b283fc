# SPDX-License-Identifier: BSD-3-Clause
# Without a malleable.yaml nothing is changed. Neither another object in its place nor a full disk stops the
# controller or restores an older configuration.
mode_is() { [ "$(ringstat_diag mode)" = "\"$1\"" ]; }
ringstat_diag() { sed -n "s/.*\"$1\":\(\"[^\"]*\"\|[0-9.]*\).*/\1/p" "$dir/log/malleable_diag.json"; }
passes() { sed -n 's/.*"passes":{"count":\([0-9]*\).*/\1/p' "$dir/log/malleable_diag.json"; }
more_passes() { [ "$(passes)" != "$1" ]; }
lives() { wait_for 20 "passes $1" more_passes "$(passes)"; }

# ---- no file, and an empty one ----
rm "$dir/malleable.yaml"
reload
wait_for 20 "mode observe without a file" mode_is observe
[ ! -e "$dir/state/malleable.yaml.accepted" ] || fail "the copy outlives its file"
grep -v mode: "$work/malleable.yaml" >"$dir/malleable.yaml"
reload
wait_for 20 "mode observe where the file names none" mode_is observe
start_job first --malleable=1:8 --gpus=2 -- 100000 100
wait_for 40 "start with 2 GPUs" runs_with "$job" 2
wait_for 20 "word of what would be done" has_event "$job" dry_run
sleep 2
runs_with "$job" 2 && [ "$(starts)" = 1 ] || fail "the job was touched"
clear_jobs
set_yaml 'mode: act'
wait_for 20 "mode act" mode_is act
: >"$dir/malleable.yaml"
reload
wait_for 20 "mode observe with an empty file" mode_is observe

# ---- not a regular file: one line, and the accepted configuration stays ----
cp "$work/malleable.yaml" "$dir/malleable.yaml"
reload
wait_for 20 "mode act" mode_is act
odd() { # SAID MAKE...
    local said=$1
    shift
    rm -rf "$dir/malleable.yaml"
    "$@" "$dir/malleable.yaml"
    reload
    wait_for 20 "complaint \"$said\"" logged "malleable.yaml: *$said"
    lives "with $1"
    mode_is act || fail "$1 changed the mode"
}
odd 'expected a file, got a FIFO' mkfifo
odd 'expected a file, got a directory' mkdir
odd 'expected a file, got a device' ln -s /dev/zero
rm "$dir/malleable.yaml"
truncate -s 10G "$dir/malleable.yaml"
reload
wait_for 20 "complaint about ten gigabytes" logged 'malleable.yaml:1: longer than 65536 bytes'
lives "with a huge file"
rm "$dir/malleable.yaml"
mkfifo "$work/log_fifo"
set_yaml "$(cat "$work/malleable.yaml"; echo; echo "event_log: $work/log_fifo")"
wait_for 20 "complaint about the log" logged 'cannot open the event log .*got a FIFO'
lives "with a FIFO for a log"

# ---- a full StateSaveLocation ----
out=$work/full
mkdir "$work/tiny"
mount -t tmpfs -o size=400k ringrt "$work/tiny" || { note "no tmpfs here"; exit 0; }
trap '"$cluster" stop "$out"; umount "$work/tiny"' EXIT
echo 'mode: act' >"$work/act"
"$cluster" start --dir "$out" --nodes 1 --plugin-dir "$plugins" --malleable --yaml "$work/act" \
    --conf "StateSaveLocation=$work/tiny" >/dev/null || fail "no cluster"
said() { grep -q "$1" "$out/log/slurmctld.log"; }
wait_for 20 "the copy" grep -q 'mode: act' "$work/tiny/malleable.yaml.accepted"
head -c 1M /dev/zero >"$work/tiny/fill" 2>/dev/null
printf 'mode: observe # %4000s\n' >"$out/malleable.yaml"
"$cluster" exec "$out" timeout 10 scontrol reconfigure
wait_for 20 "word of the copy that could not be kept" said 'cannot keep a copy of malleable.yaml'
rm "$work/tiny/fill"
echo 'mode: [observe' >"$out/malleable.yaml"
lines=$(grep -c 'sched/doubling: mode' "$out/log/slurmctld.log")
"$cluster" daemon "$out" kill slurmctld
"$cluster" daemon "$out" start slurmctld
one_more() { [ "$(grep -c 'sched/doubling: mode' "$out/log/slurmctld.log")" -gt "$lines" ]; }
wait_for 30 "the start" one_more
grep 'sched/doubling: mode' "$out/log/slurmctld.log" | tail -1 | grep -q 'mode observe' ||
    fail "the configuration accepted before returned: $(grep 'sched/doubling: ' "$out/log/slurmctld.log" | tail -3)"

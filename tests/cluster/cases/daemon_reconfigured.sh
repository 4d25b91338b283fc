# SPDX-License-Identifier: BSD-3-Clause
# scontrol reconfigure makes ringrtd read malleable.yaml, as it does with the controller in slurmctld. So ringstat detach
# works with both.
only_with daemon "scontrol reconfigure reaches sched/doubling, which is a part of slurmctld"
ringstat=$(dirname "$plugins")/ringstat
[ -x "$ringstat" ] || skip "ringstat is not built"
trap 'cp "$work/malleable.yaml" "$dir/malleable.yaml"; reload' EXIT
sed 's/mode: act/mode: observe/' "$work/malleable.yaml" >"$dir/malleable.yaml"
sleep 2 # Slurm tells in whole seconds when it was last configured
timeout 10 scontrol reconfigure
wait_for 20 "reading of malleable.yaml" logged 'mode observe'
sleep 2
cp "$work/malleable.yaml" "$dir/malleable.yaml"
timeout 10 scontrol reconfigure
is_acting() { grep -E 'ringrtd: mode' "$controller_log" | tail -n 1 | grep -q 'mode act'; }
wait_for 20 "mode: act" is_acting

start_job detached --malleable=1:8 -- 100000 100
wait_for 40 "start" runs_with "$job" 8
sleep 2
"$ringstat" detach --wait=30 >"$work/detach.said" 2>&1 || fail "detach ended with $?: $(tail -n 3 "$work/detach.said")"
! timeout 10 scontrol show job "$job" | grep -q 'malleable/1' || fail "the job has its record"
check_steps

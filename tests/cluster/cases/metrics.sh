# SPDX-License-Identifier: BSD-3-Clause
# The file for node_exporter counts a resize and reports when the newest malleable.yaml was refused. So does
# `ringstat diag`, if it is built.
ringstat=$(dirname "$plugins")/ringstat
metrics=$dir/log/ringrt.prom
counts() { grep -qxE "$1" "$metrics" 2>/dev/null; }
set_yaml "$(cat "$dir/malleable.yaml")
metrics_file: $metrics"
wait_for 15 "the metrics file" counts 'ringrt_malleable_jobs\{state="running"\} 0'
counts 'ringrt_mode\{ringrt_mode="act"\} 1' || fail "the mode is not told"
start_job big --malleable=1:16 -- 100000 100
wait_for 30 "16 GPUs" runs_with "$job" 16
wait_for 15 "15 borrowed GPUs" counts 'ringrt_gpus_borrowed 15'
# An earlier case on this cluster may have been counted.
value() { sed -n "s/^$1 //p" "$metrics"; }
is_above() { awk -v now="$(value "$1")" -v before="$2" 'BEGIN { exit !(now > before) }'; }
resizes=$(value ringrt_resizes_done_total) cost=$(value ringrt_restart_gpu_seconds_total)
start_job second --malleable=1:16 -- 100000 100
wait_for 60 "a resize that is counted" is_above ringrt_resizes_done_total "$resizes"
is_above ringrt_restart_gpu_seconds_total "$cost" || fail "the restart costs nothing"
counts 'ringrt_configuration_refused 0' || fail "a good file is said to be refused"
set_yaml 'mdoe: act'
wait_for 15 "word of the refusal" counts 'ringrt_configuration_refused 1'
if [ -x "$ringstat" ]; then
    "$ringstat" diag | grep -q 'REFUSED for .*malleable.yaml:1: unknown key "mdoe"; did you mean "mode"?' ||
        fail "ringstat diag does not tell of the refusal: $("$ringstat" diag | head -4)"
fi

# SPDX-License-Identifier: BSD-3-Clause
# ringfit reads the speed that a running job reports, with only its user's rights.
ringfit=$plugins/../ringfit
[ -x "$ringfit" ] || { echo "# skipped: ringfit was not built"; exit 77; }
told='ringrt/1 run=0 gpus=4 step=1200 step_ms=140 left=8800 ckpt=1180 save_ms=210 began=1763721600.5 up=1 speed=1:520,2:270,4:140'
job=$(rigid 1 120 --comment="my run $told") || fail "sbatch"
silent=$(rigid 1 120) || fail "sbatch"
wait_for 20 "start" is_state "$job" RUNNING
"$ringfit" --job "$job" --max 16 --json "$work/fit.json" >"$work/fit" || fail "ringfit --job"
sed 's/^/# /' "$work/fit"
# (520 - 140) ms measured between 1 and 4 GPUs: the fit passes within a few percent of all three
awk '$1 == 4 && $2 == 140 { d = ($3 - 140) / 140; found = d * d < 0.0025 } END { exit !found }' "$work/fit" ||
    fail "no fit through what the job measured"
grep -q '"speed"' "$work/fit.json" || fail "no JSON"
"$ringfit" --job "$silent" >"$work/none" 2>&1 && fail "a fit of nothing"
[ "$(wc -l <"$work/none")" = 1 ] || fail "more than one line: $(cat "$work/none")"
"$ringfit" --job 4000000 >"$work/none" 2>&1 && fail "a fit of no job"
sed 's/^/# /' "$work/none"
true

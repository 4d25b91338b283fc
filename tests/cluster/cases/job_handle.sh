# SPDX-License-Identifier: BSD-3-Clause
# seconds: 90
# A program with a communicator, a checkpoint handle and a job handle of its own (contrib/examples/job.c) grows from
# 1 to 2 to 4 GPUs by requeues. Each sample is used once: a lost or repeated one would change the sum of squares.
program=$plugins/../job
[ -x "$program" ] || skip "contrib/examples/job.c is not built"
user=nobody directory=$work/job_handle steps=900 batch=30
mkdir -p "$directory" && chown "$user" "$directory"
ranks_are() { [ "$(sed -n 's/^start at step .* on \([0-9]*\) ranks$/\1/p' "$directory/out" 2>/dev/null | tail -n 1)" = "$1" ]; }

most=$(rigid 12 600 -N3) two=$(rigid 2 600 -N1)
wait_for 20 "start of the second rigid job" is_state "$two" RUNNING
one=$(rigid 1 600 -N1)
wait_for 20 "start of the third rigid job" is_state "$one" RUNNING
job=$(as_user env RINGRT_TELEMETRY_S=1 RINGRT_SAVE_INTERVAL_S=1 sbatch --parsable --malleable=1:4 --chdir="$directory" --output="$directory/out" --open-mode=append \
    --wrap "srun $program $steps 80") || fail "sbatch refused it"
wait_for 40 "start on 1 GPU" ranks_are 1
scancel "$one"
wait_for 60 "start on 2 GPUs" ranks_are 2
note "measured: $(gap_of "$job") s from signal to running again (1 to 2)"
scancel "$two"
wait_for 60 "start on 4 GPUs" ranks_are 4
note "measured: $(gap_of "$job") s from signal to running again (2 to 4)"
scancel "$most"
wait_for 120 "end of the training" is_state "$job" COMPLETED
n=$((steps * batch))
expected="ended at step $steps on 4 ranks: the sum is $(((n - 1) * n * (2 * n - 1) / 6))"
grep -qx "$expected" "$directory/out" || { cat "$directory/out"; fail "expected: $expected"; }
awk '/^start/ { if ($4 != left) bad = 1 } /^left/ { left = $4; n++ } END { exit bad || n != 2 }' left=0 "$directory/out" ||
    { cat "$directory/out"; fail "not two resizes, each from the step that was saved"; }
awk '/^saved step/ && $5 > $3 { n++ } END { exit !n }' "$directory/out" || { cat "$directory/out"; fail "no save took place in the background"; }
timeout 10 scontrol -o show job "$job" | grep -q 'Comment=.*speed=1:[0-9.]*,2:[0-9.]*,4:' || fail "the speed of each size was not reported"

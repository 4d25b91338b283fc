# SPDX-License-Identifier: BSD-3-Clause
# A training with a fixed batch per GPU trains more samples a step at larger sizes. It grows to its MAX, as a
# training with a fixed global batch does, and keeps that size once it has reported its speed there.
need_digits
directory=$work/batch_per_gpu
mkdir -p "$directory"
trained_on() { awk -F, -v gpus="$1" -v rows="$2" '$4 == gpus { n++ } END { exit n < rows }' "$directory/steps.csv"; }
says() { timeout 10 scontrol show job "$job" | grep -q "Comment=ringrt/1 .*$1"; }

blocker=$(rigid 14 300 -N4) # 2 GPUs of one node are left
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
job=$(DIGITS=$digits RINGRT_TELEMETRY_S=1 timeout 20 sbatch --parsable --malleable=1:8 --chdir="$directory" \
    --output="$directory/out" "$here/../../contrib/examples/train.sh" --data="$data" --epochs=200 \
    --batch-per-gpu=16 --device-ms-per-sample=5 --loss-csv="$directory/steps.csv") || fail "sbatch refused it"
wait_for 40 "ten steps on 2 GPUs" trained_on 2 10
wait_for 20 "its samples" says "gpus=2 .*batch=16 samples=[1-9]"
note "measured: $("$(dirname "$plugins")/ringstat" --noheader -o '%g GPUs, %y samples/s' 2>&1 | head -1)"
scancel "$blocker"
wait_for 40 "thirty steps on 8 GPUs" trained_on 8 30
wait_for 20 "its speed on 8 GPUs" says "gpus=8 .* step_ms="
begun=$SECONDS
while [ $((SECONDS - begun)) -lt 5 ]; do # time for several decisions
    [ "$(gpus_of "$job")" = 8 ] || fail "it did not keep 8 GPUs: $(timeout 10 scontrol show job "$job" | grep Comment)"
    sleep 0.5
done
tail -n +2 "$directory/steps.csv" | awk -F, '$4 < last { bad = 1 } { last = $4 } END { exit bad }' || fail "it shrank on its way"

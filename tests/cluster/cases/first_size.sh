# SPDX-License-Identifier: BSD-3-Clause
# A job whose name was never measured starts with the GPUs that its script requests, or on one node if that
# requests none, and grows when it runs. The next job of a name that was measured starts larger than requested.
user=nobody
first_ranks() { sed -n 's/^start .*ranks=\([0-9]*\) .*/\1/p' "$directory/log" 2>/dev/null | head -n 1; }
for requested in 1 2 8; do
    start_job "asks$requested" --malleable=1:16 --gpus=$requested -- 100000 100
    wait_for 60 "growth to 16 GPUs" runs_with "$job" 16
    [ "$(first_ranks)" = $requested ] || fail "a job that requests $requested GPUs started with $(first_ranks)"
    scancel "$job"
    wait_for 30 "end" is_state "$job" CANCELLED
done
directory=$work/asks_nothing
mkdir -p "$directory" && chown "$user" "$directory"
job=$(as_user sbatch --parsable -J asks_nothing -o "$directory/out" --malleable=1:16 "$plain_job" "$directory" 100000 100) ||
    fail "sbatch refused a job without a request"
wait_for 60 "growth to 16 GPUs" runs_with "$job" 16
[ "$(first_ranks)" = 4 ] || fail "a job without a request started with $(first_ranks) GPUs"
scancel "$job"
wait_for 30 "end" is_state "$job" CANCELLED

[ -x "$(dirname "$plugins")/digits" ] || exit 0
need_digits
user='' # whose files the training reads
train() { # LOG: starts a training that requests one GPU
    directory=$work/$1
    mkdir -p "$directory"
    job=$(DIGITS=$digits RINGRT_TELEMETRY_S=1 timeout 20 sbatch --parsable -J measured --malleable=1:8 --gpus=1 \
        --chdir="$directory" --output="$directory/out" "$here/../../contrib/examples/train.sh" --data="$data" \
        --epochs=300 --device-ms-per-sample=5 --loss-csv="$directory/steps.csv") || fail "sbatch refused it"
}
trained_on() { awk -F, -v gpus="$1" '$4 == gpus { n++ } END { exit n < 10 }' "$directory/steps.csv"; }
first_size() { awk -F, 'NR == 2 { print $4 }' "$directory/steps.csv" 2>/dev/null; }
train first
wait_for 60 "growth of the first" trained_on 8
[ "$(first_size)" = 1 ] || fail "the first training started with $(first_size) GPUs"
scancel "$job"
wait_for 30 "end" is_state "$job" CANCELLED
train second
wait_for 60 "steps of the second" trained_on 8
[ "$(first_size)" = 8 ] || fail "the second training started with $(first_size) GPUs"
note "measured: an unmeasured training starts with 1 GPU, the next one of its name with $(first_size)"

# SPDX-License-Identifier: BSD-3-Clause
# A resize is announced in the job's own output, with the size at which the job continues: for a job without
# libringrt, and for one that uses it. A job that is not resized gets no such line.
told() { grep -q "$1" "$directory/out"; }
each_once() { # FROM TO
    wait_for 10 "word of the resize" told "ringrt: job $job is being resized from $1 to $2 GPUs ([A-Za-z]*): it restarts"
    wait_for 10 "word of the start" told "ringrt: job $job continues with $2 GPUs\( (before: $1)\)\?$"
    [ "$(grep -c 'is being resized' "$directory/out")" = "$resizes" ] || fail "told of more than $resizes resizes"
}

start_job plain --malleable=1:8 -- 100000 100
wait_for 40 "start with 8 GPUs" runs_with "$job" 8
wait_for 20 "steps" has_steps 5
guest=$(rigid 12 300 -N3)
wait_for 40 "4 GPUs" runs_with "$job" 4
resizes=1
each_once 8 4
note "$(grep -h 'ringrt: ' "$directory/out" | head -2)"
scancel "$guest"
wait_for 40 "8 GPUs again" runs_with "$job" 8
resizes=2
each_once 4 8
[ ! -e "$(dirname "$plugins")/digits" ] || {
    clear_jobs
    directory=$work/calm_training resizes=1
    mkdir -p "$directory"
    data=$(dirname "$plugins")/digits.csv
    "$here/../../contrib/examples/get-digits" "$data" >/dev/null || exit 0
    guest=$(rigid 12 300 -N3)
    wait_for 20 "start of the rigid job" is_state "$guest" RUNNING
    job=$(DIGITS=$(dirname "$plugins")/digits RINGRT_TELEMETRY_S=1 timeout 20 sbatch --parsable --malleable=1:8 \
        --chdir="$directory" --output="$directory/out" "$here/../../contrib/examples/train.sh" --data="$data" --epochs=30 \
        --device-ms-per-sample=5 --loss-csv="$directory/steps.csv") || fail "sbatch refused it"
    wait_for 60 "steps" test -s "$directory/steps.csv"
    scancel "$guest"
    each_once 4 8
}
clear_jobs

# A job that ends, or that its user requeues or cancels, is not being resized.
start_job quiet --malleable=1:4 -- 100000 100
wait_for 40 "start" runs_with "$job" 4
timeout 10 scontrol requeue "$job"
wait_for 150 "second start" bash -c "[ \"\$(grep -c ^start '$directory/log')\" = 2 ]"
wait_for 10 "word of the start" told "ringrt: job $job continues with 4 GPUs$"
scancel "$job"
wait_for 30 "its end" is_state "$job" CANCELLED
told 'is being resized' && fail "a resize that did not happen was reported"
[ "$(grep -c 'ringrt: ' "$directory/out")" = 1 ] || fail "said: $(grep 'ringrt: ' "$directory/out")"

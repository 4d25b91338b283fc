# SPDX-License-Identifier: BSD-3-Clause
# A real training over libringrt grows when a rigid job ends and shrinks when one is submitted. Each step is
# done once, each image is used once an epoch, and the result is accurate.
need_digits
directory=$work/training
mkdir -p "$directory"
trained_on() { awk -F, -v gpus="$1" '$4 == gpus { n++ } END { exit n < 10 }' "$directory/steps.csv"; }
submit() {
    DIGITS=$digits RINGRT_TELEMETRY_S=1 timeout 20 sbatch --parsable --malleable=1:8 --chdir="$directory" \
        --output="$directory/out" "$here/../../contrib/examples/train.sh" --data="$data" --epochs=30 \
        --device-ms-per-sample=5 --loss-csv="$directory/steps.csv" --json="$directory/summary"
}

blocker=$(rigid 12 300 -N3)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
job=$(submit) || fail "sbatch refused it"
wait_for 40 "ten steps on 4 GPUs" trained_on 4
scancel "$blocker"
wait_for 40 "ten steps on 8 GPUs" trained_on 8
note "measured: grew, $(gap_of "$job") s from signal to running again"
rows=$(wc -l <"$directory/steps.csv")
blocker=$(rigid 12 300 -N3)
wait_for 40 "start of the second rigid job" is_state "$blocker" RUNNING
wait_for 40 "ten steps after it shrank" awk -F, -v from="$rows" 'NR > from && $4 < 8 { n++ } END { exit n < 10 }' "$directory/steps.csv"
note "measured: shrank, $(gap_of "$job") s from signal to running again"
scancel "$blocker"
wait_for 100 "end of the training" is_state "$job" COMPLETED
awk -F, 'NR > 1 && $1 != ++last { print "# step " $1 " where " last " was due"; bad = 1; exit }
    END { exit bad || last != 660 }' "$directory/steps.csv" || fail "steps were lost or done twice"
grep -q '"samples_lost": 0, "samples_duplicated": 0' "$directory/summary" || fail "samples: $(cat "$directory/summary")"
awk -v a="$(grep -o '"accuracy": [0-9.]*' "$directory/summary" | cut -d' ' -f2)" 'BEGIN { exit !(a >= 0.95) }' ||
    fail "accuracy: $(cat "$directory/summary")"

# SPDX-License-Identifier: BSD-3-Clause
# A long real training and a short one, and both may be paused: the long one is paused until the short one has ended, and
# they do not take turns. Each step is done once, each image is used once an epoch.
# seconds: 300
. "$here/pause.sh"
need_digits
# As at a site: a job is not asked before it can have reported how much work it has left.
set_yaml "$(sed 's/^settle_s: .*/settle_s: 20/' "$work/malleable.yaml")"
train() { # NAME EPOCHS: sets $job and $directory
    directory=$work/$1
    mkdir -p "$directory"
    job=$(DIGITS=$digits RINGRT_TELEMETRY_S=1 timeout 20 sbatch --parsable -J "$1" --malleable=16:16 --malleable-pause --chdir="$directory" \
        --output="$directory/out" "$here/../../contrib/examples/train.sh" --data="$data" --epochs="$2" \
        --device-ms-per-sample=20 --loss-csv="$directory/steps.csv" --json="$directory/summary") || fail "sbatch refused it"
}
rows() { cat "$directory/steps.csv" 2>/dev/null | wc -l; }
has_rows() { [ "$(rows)" -ge "$1" ]; }
check_rows() { # STEPS
    awk -F, -v steps="$1" 'NR > 1 && $1 != ++last { print "# step " $1 " where " last " was due"; bad = 1; exit } END { exit bad || last != steps }' \
        "$directory/steps.csv" || fail "$directory: steps were lost or done twice"
    grep -q '"samples_lost": 0, "samples_duplicated": 0' "$directory/summary" || fail "samples: $(cat "$directory/summary")"
}
train long 25
long=$job
wait_for 60 "steps of the long training" has_rows 20
train short 6
short=$job
wait_for 60 "pause of the long training" is_paused "$long"
wait_for 40 "start of the short training" is_state "$short" RUNNING
wait_for 120 "end of the short training" is_state "$short" COMPLETED
check_rows 132
job=$long directory=$work/long
wait_for 180 "end of the long training" is_state "$long" COMPLETED
check_rows 550
[ "$(count_events "$long" paused)" = 1 ] && [ "$(count_events "$short" paused)" = 0 ] ||
    fail "the long one was paused $(count_events "$long" paused) times, the short one $(count_events "$short" paused) times"

# SPDX-License-Identifier: BSD-3-Clause
# A real training over libringrt in a cluster case. Cases source it after lib.sh.
# shellcheck shell=bash disable=SC2154
digits=$(dirname "$plugins")/digits data=$(dirname "$plugins")/digits.csv
[ -x "$digits" ] || { note "skipped: digits is not built"; exit 77; }
"$here/../../contrib/examples/get-digits" "$data" >/dev/null || { note "skipped: the digits cannot be fetched"; exit 77; }

start_training() { # NAME MIN:MAX EPOCHS [OPTION of digits...]: sets $job and $directory; 22 steps an epoch
    directory=$work/$1
    mkdir -p "$directory"
    job=$(DIGITS=$digits RINGRT_TELEMETRY_S=1 timeout 20 sbatch --parsable --malleable="$2" --chdir="$directory" -J "$1" \
        --output="$directory/out" "$here/../../contrib/examples/train.sh" --data="$data" --epochs="$3" \
        --device-ms-per-sample=5 --loss-csv="$directory/steps.csv" --json="$directory/summary" "${@:4}") || fail "sbatch refused it"
}
trained() { [ "$(wc -l 2>/dev/null <"$directory/steps.csv" || echo 0)" -gt "$1" ]; }
trained_on() { awk -F, -v least="$1" -v gpus="$2" '$4 == gpus { n++ } END { exit n < least }' "$directory/steps.csv" 2>/dev/null; }
# Checks that each step was done once and in order.
check_training() {
    awk -F, '$1 ~ /^[0-9]+$/ && $1 != ++last { print "# step " $1 " where " last " was due"; bad = 1; exit } END { exit bad }' \
        "$directory/steps.csv" || fail "steps were lost or done twice"
}

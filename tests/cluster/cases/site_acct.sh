# SPDX-License-Identifier: BSD-3-Clause
# `ringstat acct` shows one training as one line, with a real slurmdbd: a training that is requeued for its
# resizes, and one that extension jobs join, while they run and after their end. Users see what sacct shows
# them.
. "$here/site.sh"
. "$here/live.sh"
ringstat=$(dirname "$plugins")/ringstat
[ -x "$ringstat" ] || { echo "# skipped: ringstat is not built"; exit 77; }
echo 'resize: live' >>"$work/malleable.yaml"
site_up
acct() { as slurm "$ringstat" acct --allusers "$@"; }
line_is() { # JOB RUNS GPUS
    acct "$1" 2>/dev/null | awk -v job="$1" -v runs="$2" -v gpus="$3" '$1 == job && $5 == runs && $6 == gpus { found = 1 } END { exit !found }'
}
# Compares the GPU seconds of the training with all its rows in sacct.
same_sum() { # JOB ROWS...
    local job=$1 ids
    shift
    ids=$(IFS=,; echo "$job${*:+,$*}")
    acct "$job" --json | python3 -c 'import json, sys; print(int(json.load(sys.stdin)["trainings"][0]["gpu_s"]))' >"$work/ours"
    as slurm sacct -n -P -D -X -a -j "$ids" -o elapsedraw,alloctres | awk -F'|' '{
        n = split($2, item, ","); for (i = 1; i <= n; i++) if (sub("gres/gpu=", "", item[i])) sum += $1 * item[i] }
        END { print sum + 0 }' >"$work/theirs"
    cmp -s "$work/ours" "$work/theirs" || fail "GPU seconds of $job: $(cat "$work/ours"), in sacct $(cat "$work/theirs")"
}

blocker=$(user_rigid bob 600 --gpus=8 --nodes=2 -w "n[1-2]")
wait_for 30 "start of bob's job" is_state "$blocker" RUNNING
user_job alice grows --malleable=1:8 -- 150 100
wait_for 60 "run with 2" runs_with "$job" 2
wait_for 20 "its line while it runs" line_is "$job" 1 2
as bob scancel "$blocker"
wait_for 90 "run with 8" runs_with "$job" 8
wait_for 120 "end" is_state "$job" COMPLETED
# One resize, or two if bob's nodes became free one after the other.
runs=$(($(timeout 10 scontrol -o show job "$job" | sed -n 's/.* Restarts=\([0-9]*\).*/\1/p') + 1))
[ "$runs" -ge 2 ] || fail "it was not resized"
wait_for 30 "its line" line_is "$job" "$runs" 2-8
same_sum "$job"

steps=100 directory=$dir/home/alice/live
as alice mkdir -p "$directory"
blocker=$(user_rigid bob 600 --gpus=8 --nodes=2 -w "n[1-2]")
wait_for 30 "start of bob's job" is_state "$blocker" RUNNING
base=$(as alice env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:2 -D "$directory" -o "$directory/base" \
    --wrap "srun -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
wait_for 60 "two ranks" base_has 2
wait_for 20 "its line while it runs" line_is "$base" 1+1 1-2
wait_for 120 "end of the base" is_state "$base" COMPLETED
as bob scancel "$blocker"
wait_for 30 "end of all" no_jobs
extension=$(as slurm sacct -n -P -X -a -o jobid,admincomment | sed -n "s/|extension.* of=$base .*//p")
ended() { acct "$base" --json | grep -q '"state": "COMPLETED"'; }
wait_for 20 "its end in slurmdbd" ended
sleep 2
same_sum "$base" $extension
acct | sed 's/^/# /'
acct | grep -q "^2 trainings, $((runs + 1)) runs, 1 extension: " || fail "the sums are others"

# Without arguments: her own jobs, and no other user's.
as alice "$ringstat" acct | grep -q "^ *$job " || fail "alice does not see her training"
as carol "$ringstat" acct "$blocker" 2>"$work/err" && fail "a rigid job was shown"
grep -q 'none of these malleable jobs' "$work/err" || fail "the message: $(cat "$work/err")"

# SPDX-License-Identifier: BSD-3-Clause
# The controller trusts AdminComments. An ordinary user can write none, by scontrol or by libslurm, of her own
# jobs or of others'. Requests about another user's job, or about malleable.yaml's host, are refused.
. "$here/site.sh"
site_up
submit_many=$(dirname "$plugins")/tests/faults/submit_many
count=0
refused() { # CMD...
    as alice timeout 20 "$@" >"$work/refused" 2>&1 && fail "alice may: $*"
    count=$((count + 1))
}
comment_of() { timeout 10 scontrol -o show job "$1" | grep -o 'AdminComment=malleable/1.*'; }
user_job bob victim --malleable=1:2 -- 100000 100
victim=$job victims=$directory
wait_for 60 "run of bob's job" runs_with "$victim" 2
user_job alice own --malleable=1:2 -- 100000 100
own=$job
wait_for 60 "run of alice's job" is_state "$own" RUNNING
starts_before=$(grep -c '^start' "$victims/log")

forged="malleable/1 range=1:8 signal=9 grace=86400 state=asked gpus=1 target=8 asked=1 nice=-100000"
for id in "$own" "$victim"; do refused scontrol update jobid="$id" admincomment="$forged"; done
[ ! -x "$submit_many" ] || as alice timeout 20 "$submit_many" 1 true >"$work/control" 2>&1 || fail "the control is refused: $(cat "$work/control")"
for record in "$forged" "extension/1 of=$victim run=0 level=1" "extension/1 of=$own run=0 level=1 asked=1"; do
    [ ! -x "$submit_many" ] || refused "$submit_many" 1 "sleep 60" admin_comment="$record"
    [ ! -x "$submit_many" ] || grep -q 'denied\|not permitted' "$work/refused" || fail "refused for another reason: $(cat "$work/refused")"
    as alice timeout 20 sbatch -o /dev/null --comment="$record" --wrap 'true' >/dev/null || fail "a comment was refused"
done
[ -x "$submit_many" ] || note "submit_many is not built: nothing is submitted by libslurm"
for option in --priority=4000000000 --nice=-1000; do
    as alice timeout 20 sbatch --parsable -o /dev/null --malleable=1:2 --begin=now+1hour "$option" --wrap true >"$work/id" 2>/dev/null || continue
    [ "$(field "$(cat "$work/id")" Nice)" -ge 0 ] || fail "alice's job has the nice value $(field "$(cat "$work/id")" Nice)"
done
for command in "scontrol requeue $victim" "scontrol hold $victim" "scontrol suspend $victim" "scontrol update jobid=$victim timelimit=1" \
    "scontrol update jobid=$victim comment=x" "scancel -s URG $victim" "scancel $victim" "scontrol reconfigure" "scontrol update jobid=$own nice=-1"; do
    # shellcheck disable=SC2086 # words
    as alice timeout 20 $command >/dev/null 2>&1 # scancel reports success in any case
    count=$((count + 1))
done
sleep 4
has_event "$victim" asked && fail "bob's job was asked to leave"
[ "$(grep -c '^start' "$victims/log")" = "$starts_before" ] && is_state "$victim" RUNNING || fail "bob's job was touched"
[ "$(field "$victim" Comment)" != x ] || fail "bob's job has alice's comment"
[[ $(comment_of "$victim") == *state=running* ]] && [[ $(comment_of "$own") == *state=running* ]] ||
    fail "records: $(comment_of "$victim") $(comment_of "$own")"
[ "$(field "$own" Nice)" = 0 ] || fail "alice's job has the nice value $(field "$own" Nice)"
directory=$victims
check_steps
note "measured: $count attempts"

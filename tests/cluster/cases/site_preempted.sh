# SPDX-License-Identifier: BSD-3-Clause
# Slurm itself preempts a training (by QOS, GraceTime, PreemptMode=REQUEUE), once while it trains and once as
# it is asked to resize. It saves, is requeued, and waits with its own nice value. No step is lost or done
# twice. SIGTERM from its user, which is no preemption, ends it.
. "$here/site.sh"
need_digits
[ ! -x "$plugins/digits" ] || digits=$plugins/digits # not libtool's script
site_up
directory=$dir/home/alice/trained
as alice mkdir -p "$directory"
cp "$data" "$dir/home/alice/digits.csv" && chmod 644 "$dir/home/alice/digits.csv"
rows_now() { cat "$directory/steps.csv" 2>/dev/null | wc -l; }
trains_on() { awk -F, -v gpus="$1" -v from="${rows:-1}" 'NR > from && $4 == gpus { n++ } END { exit n < 10 }' "$directory/steps.csv"; }
trains_after() { [ "$(rows_now)" -ge $((rows + 10)) ]; }
urgent() { user_rigid carol 600 -p urgent -q urgent --gpus=8 --nodes=2 -w "n[1-2]"; }
has_begun() { [ "$(field "$job" Restarts)" -gt "$1" ] && is_state "$job" "RUNNING"; }

# Slurm takes the GPUs of the training's three nodes for another user's job, and then returns them.
preempt() { # WHEN RESTARTS: RESTARTS is the job's restart count so far
    local preemptor
    preemptor=$(urgent)
    wait_for 40 "start of the preemptor $1" is_state "$preemptor" RUNNING
    wait_for 60 "requeue $1" has_begun "$2"
    rows=$(rows_now)
    wait_for 60 "ten steps while the preemptor runs, preempted $1" trains_after
    [ "$(field "$job" Nice)" = 100 ] || fail "preempted $1: its nice value is $(field "$job" Nice)"
    timeout 10 scancel "$preemptor"
}

job=$(as alice env DIGITS="$digits" LD_LIBRARY_PATH="$plugins" RINGRT_TELEMETRY_S=1 sbatch --parsable -q scavenger --nice=100 \
    --malleable=1:8 -D "$directory" -o "$directory/out" "$here/../../contrib/examples/train.sh" --data="$dir/home/alice/digits.csv" \
    --epochs=30000 --device-ms-per-sample=5 --loss-csv="$directory/steps.csv") || fail "sbatch refused it"
wait_for 90 "ten steps on 8 GPUs" trains_on 8
preempt "while it trains" 0
asked=$(count_events "$job" asked) restarts=$(field "$job" Restarts)
asked_again() { [ "$(count_events "$job" asked)" -gt "$asked" ]; }
wait_for 90 "resize" asked_again
preempt "as it is asked" "$restarts"
grep -q 'signalled to save at step .* requeued' "$directory/out" || fail "it did not save: $(tail -n 5 "$directory/out")"
awk -F, 'NR > 1 && $1 != ++last { print "# step " $1 " where " last " was due"; bad = 1; exit } END { exit bad }' \
    "$directory/steps.csv" || fail "steps were lost or done twice"
! as alice sacct -n -X -D -j "$job" -o state | grep -E 'FAILED|COMPLETED|CANCELLED' || fail "a run ended as none that is preempted"

rows=$(rows_now)
wait_for 60 "ten steps more" trains_after
# A SIGTERM while the job leaves for a resize counts as that of its requeue, so it is sent again.
ended_by_sigterm() {
    is_state "$job" FAILED && return
    as alice scancel --signal=TERM "$job" 2>/dev/null
    sleep 3
    is_state "$job" FAILED
}
wait_for 60 "its end by SIGTERM" ended_by_sigterm

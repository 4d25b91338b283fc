# SPDX-License-Identifier: BSD-3-Clause
# Nodes with two GPU types each: a job grows to what its own type has and is never asked for more, a rigid job
# gets GPUs of its own type back while others are idle beside them, and jobs without a type use both.
# seconds: 600
user=nobody
second_cluster --nodes 3 --gpus a100:6+h100:2,a100:6+h100:2,a100:2+h100:6
asked() { grep -c "\"job\":$job,\"event\":\"asked\"" "$dir/log/malleable_events.jsonl"; }
has_few() { is_state "$job" RUNNING && [ "$(gpus_of "$job")" -le "$1" ]; }
never_impossible() { ! grep -q 'BadConstraints' "$dir/log/malleable_events.jsonl" || fail "a size was impossible"; }

# 14 GPUs of its type and ten of the other: it gets 8 of at most 16, and is not asked for more.
start_job typed --gpus=a100:1 --malleable=1:16 -- 100000 100
wait_for 60 "start with the 8 of its type" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10
before=$(asked)
sleep 8
[ "$(asked)" = "$before" ] || fail "it was asked although its type has no more GPUs"
never_impossible

# It waits for the same type, beside idle GPUs of the other.
served() { # MOST_LEFT GPUS OPTIONS...
    local guest most=$1 gpus=$2
    shift 2
    guest=$(rigid "$gpus" 300 "$@")
    wait_for 60 "start of a rigid job of $gpus $*" is_state "$guest" RUNNING
    wait_for 40 "the malleable job again" has_few "$most"
    scancel "$guest"
    wait_for 120 "growth to $most_ever GPUs" runs_with "$job" "$most_ever"
}
most_ever=8
served 4 a100:5 -N1 # beside two idle ones and six of the other type on the third node
served 4 a100:8
served 4 a100:6,h100:2 -N1 # several types at once; the h100 are idle

# It waits for the other type, of which a rigid job has all: nothing would help it.
before=$(asked)
holder=$(rigid h100:10 300)
wait_for 30 "start of the job with all h100" is_state "$holder" RUNNING
waiting=$(rigid h100:1 300)
sleep 8
is_state "$waiting" PENDING || fail "the second job of h100 is $(state_of "$waiting")"
[ "$(asked)" = "$before" ] || fail "it was asked for a job that waits for the other type"
scancel "$waiting" "$holder"

# A job without a type beside it.
first=$job
check_steps
start_job untyped --malleable=1:4 -- 100000 100
wait_for 60 "growth onto the other type" runs_with "$job" 4
wait_for 20 "ten steps" has_steps 10
[ "$(gpus_of "$first")" = 8 ] || fail "the first job has $(gpus_of "$first") GPUs"
scancel "$first"
wait_for 30 "end of the first job" is_state "$first" "CANCELLED"
check_steps
scancel "$job"
wait_for 30 "end of the job" is_state "$job" "CANCELLED"

# Alone it has two whole nodes. Rigid jobs of one type, of any and of whole nodes get theirs back.
start_job both --malleable=1:16 -- 100000 100
wait_for 60 "all 16 GPUs" runs_with "$job" 16
wait_for 20 "ten steps" has_steps 10
most_ever=16
served 8 a100:8
served 8 h100:10
served 8 16 -N2 --gpus-per-node=8
served 8 7 -N1 -w n2
served 8 1 -N1 --exclusive -w n2
# Several types at once: of each what is lent, on the same nodes.
served 8 a100:2,h100:1 -N1 -w n1
each() { # GRES OPTIONS...
    local guest gres=$1
    shift
    guest=$(as_user sbatch --parsable -J rigid -o /dev/null --gres="$gres" "$@" --wrap 'sleep 300')
    wait_for 60 "start of a rigid job with $gres $*" is_state "$guest" RUNNING
    wait_for 40 "the malleable job again" has_few 8
    scancel "$guest"
    wait_for 120 "growth to $most_ever GPUs" runs_with "$job" "$most_ever"
}
each gpu:a100:3,gpu:h100:2 -w n2
each gpu:a100:2,gpu:h100:1 -N3
check_steps
never_impossible

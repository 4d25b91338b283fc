# SPDX-License-Identifier: BSD-3-Clause
# Nodes of 2, 4, 8 and 8 GPUs in one partition: a job grows onto nodes of any size, and rigid jobs that fit on
# some nodes only, or do not divide evenly by nodes, get borrowed GPUs back.
# seconds: 500
user=nobody
second_cluster --gpus 2,4,8
asked() { grep -c "\"job\":$job,\"event\":\"asked\"" "$dir/log/malleable_events.jsonl"; }
has_few() { is_state "$job" RUNNING && [ "$(gpus_of "$job")" -le "$1" ]; }

start_job uneven --malleable=1:16 -- 100000 100
wait_for 60 "start with 16 GPUs" runs_with "$job" 16
wait_for 20 "ten steps" has_steps 10

# GPUs, options of the rigid job, and how many it leaves for the malleable one at most.
served() {
    local guest gpus=$1 most=$2
    shift 2
    guest=$(rigid "$gpus" 300 "$@")
    wait_for 60 "start of a rigid job of $gpus $*" is_state "$guest" RUNNING
    wait_for 40 "the malleable job again" has_few "$most"
    scancel "$guest"
    wait_for 120 "growth to 16 GPUs" runs_with "$job" 16
}
served 10 8                # on any nodes
served 8 8 -N1             # on one node of eight
served 13 8 -N3            # 13 GPUs, three nodes
served 18 4                # the four nodes together have 22
served 6 16 -N1            # beside it 16 remain, on other nodes

# Each of two nodes of eight, and the malleable job elsewhere.
guest=$(rigid 16 300 -N2 --gpus-per-node=8)
wait_for 60 "start of a rigid job on two nodes of eight" is_state "$guest" RUNNING
wait_for 60 "the malleable job on the small nodes" has_few 4
scancel "$guest"
wait_for 120 "growth to 16 GPUs" runs_with "$job" 16

# More GPUs a node than a node of four has: no GPU of a small node is returned for it.
before=$(asked)
guest=$(rigid 24 300 -N3 --gpus-per-node=8)
sleep 8
[ "$(asked)" = "$before" ] || fail "it was asked for a job that could not start"
[ -z "$guest" ] || scancel "$guest"
check_steps

# Two jobs share what there is: neither is left at MIN beside idle GPUs.
first=$job
start_job uneven2 --malleable=2:8 -- 100000 100
second=$job
wait_for 60 "start of the second job" is_state "$second" RUNNING
wait_for 90 "growth of the second job" eval '[ "$(gpus_of $second)" -ge 4 ] && is_state $second RUNNING && is_state $first RUNNING'
wait_for 20 "ten steps of the second job" has_steps 10
check_steps

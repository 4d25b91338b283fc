# SPDX-License-Identifier: BSD-3-Clause
# Batch scripts as submitit, Lightning, Hugging Face and PyTorch write them start under --malleable, as an
# ordinary user. Their headers become a start size and a layout that holds at every size. Each task finds the
# variables that its framework reads.
user=nobody
trap scancel_all EXIT
top=$work/headers
mkdir -p "$top"

# script NAME HEADER_LINES COMMAND: sets $script and $directory
script() {
    directory=$top/$1 script=$top/$1/job.sh
    mkdir -p "$directory"
    printf '#!/bin/bash\n%s\n%s\n' "$(sed 's/^ */#SBATCH /' <<<"$2")" "$3" >"$script"
    chmod 755 "$script"
    chown -R $user "$directory"
}
submit() { # SBATCH_OPTIONS...: sets $job
    job=$(as_user sbatch --parsable -o "$directory/out" "$@" "$script" 2>"$top/said") || fail "refused: $(cat "$top/said")"
}

# ---- what each header becomes ---------------------------------------------------------------------
shape() { # of the held job: GPUs, nodes if the layout has them, tasks, layout
    timeout 10 scontrol -o show job "$job" | awk '{
        for (i = 1; i <= NF; i++) {
            if ($i ~ /^TresPerJob=/) { gpus = $i; sub(/.*:/, "", gpus) }
            if ($i ~ /^NumNodes=/) { nodes = $i; sub(/.*=/, "", nodes) }
            if ($i ~ /^NumTasks=/) { tasks = $i; sub(/.*=/, "", tasks) }
            if ($i ~ /^node=|^tasks=/) layout = layout " " $i
        }
        sub(/-.*/, "", nodes); print gpus, layout ? nodes : "-", tasks layout }'
}
becomes() { # NAME EXPECTED_SHAPE RANGE HEADER_LINES
    script "$1" "$4" true
    submit --hold --malleable="$3"
    [ "$(shape)" = "$2" ] || fail "$1: expected $2, got $(shape)"
    [ ! -s "$top/said" ] || fail "$1: sbatch said $(cat "$top/said")"
    as_user scancel "$job"
    count=$((count + 1))
}
count=0
becomes submitit "2 1 2 node=2" 1:8 '--gpus-per-node=2
--job-name=submitit
--nodes=1
--ntasks-per-node=2
--open-mode=append
--signal=USR2@90
--time=5
--wckey=submitit'
becomes submitit-default "1 1 1 node=1" 1:4 '--gpus-per-node=1
--nodes=1
--ntasks-per-node=1
--time=5'
becomes lightning "8 2 8 node=4" 4:16 '--nodes=2
--gres=gpu:4
--ntasks-per-node=4
--mem=0
--time=0-02:00:00
--signal=SIGUSR1@90'
becomes accelerate "8 2 2 node=4 tasks=node" 4:16 '--nodes=2
--ntasks-per-node=1
--gres=gpu:4
--cpus-per-task=16
--time=01:59:00'
becomes pytorch "4 4 4 node=1" 1:4 '--nodes=4
--ntasks=4
--gpus-per-task=1
--cpus-per-task=4'
becomes torchrun "4 1 1 node=4 tasks=node" 1:8 '--nodes=1
--gpus-per-node=4'
becomes per-gpu "2 - 2" 1:8 '--gpus=2
--cpus-per-gpu=2
--mem-per-gpu=100M'
becomes plain-gres "2 - 2" 1:8 --gres=gpu:2
script off-ladder '--gpus=3' true
submit --hold --malleable=1:8
grep -q 'requests 3, not one of its sizes.*taken as 2' "$top/said" || fail "a size off the ladder: sbatch said $(cat "$top/said")"
as_user scancel "$job"

# ---- a layout holds at every size ------------------------------------------------------------------
cat >"$top/worker" <<END
#!/bin/bash
env >"\$1/env.\${SLURM_RESTART_COUNT:-0}.\$SLURM_PROCID"
exec "$plain_job" --worker "\$1" 100000 0.1 save
END
chmod 755 "$top/worker"
grown() { # RUN: its tasks' variables, one task a line: nodes tasks, per node, GPUs there, what frameworks read
    local file
    for file in "$directory/env.$1."*; do
        (set -a && unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT && . <(grep -E '^(SLURM_|CUDA_|RANK=|WORLD|LOCAL_|MASTER_|PL_)' "$file" | sed "s/=\(.*\)/='\1'/")
            echo "$SLURM_NNODES $SLURM_NTASKS $SLURM_NTASKS_PER_NODE $(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .)" \
                "${RANK--} ${WORLD_SIZE--} ${LOCAL_RANK--} ${LOCAL_WORLD_SIZE--} ${PL_TRAINER_DEVICES--} ${PL_TRAINER_NUM_NODES--} ${MASTER_ADDR--}")
    done
}
has_tasks() { # RUN COUNT
    [ "$(find "$directory" -name "env.$1.*" -size +0 | wc -l)" = "$2" ]
}
run_of() { scontrol -o show job "$job" | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p'; }
runs_on() { is_state "$job" RUNNING && [ "$(gpus_of "$job")" = "$1" ] && has_line "restarts=$(run_of) .*ranks=$2 nodes=$3 "; }
blocker=$(rigid 12 600 -N3)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING

# Two ranks a node, although a node has room for four. The script's own MASTER_PORT is kept.
script ranks '--gpus-per-node=2
--nodes=1
--ntasks-per-node=2
--cpus-per-gpu=2
--mem-per-gpu=100M' "export MASTER_PORT=29500
srun $top/worker $top/ranks"
submit --malleable=2:4
wait_for 30 "start on one node" runs_on 2 2 1
wait_for 10 "two tasks" has_tasks "$(run_of)" 2
scancel "$blocker"
wait_for 60 "growth to two nodes" runs_on 4 4 2
wait_for 10 "four tasks" has_tasks "$(run_of)" 4
grown "$(run_of)" >"$top/got"
printf '%s\n' '2 4 2 2 0 4 0 2 2 2 127.0.0.1' '2 4 2 2 1 4 1 2 2 2 127.0.0.1' \
    '2 4 2 2 2 4 0 2 2 2 127.0.0.1' '2 4 2 2 3 4 1 2 2 2 127.0.0.1' | diff - "$top/got" | sed 's/^/# /' | grep . &&
    fail "the tasks of the larger size (< expected, > found)"
grep -Lx MASTER_PORT=29500 "$directory/env.$(run_of)."* | grep . && fail "the user's MASTER_PORT was changed"
check_steps
as_user scancel "$job"

# One launcher a node, which sets the ranks' variables itself.
blocker=$(rigid 12 600 -N3)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
script launcher '--nodes=1
--ntasks-per-node=1
--gpus-per-node=4' "echo \"per node: \$SLURM_GPUS_PER_NODE GPUs, \$SLURM_NTASKS_PER_NODE tasks; \$SLURM_NNODES nodes\"
srun $top/worker $top/launcher"
submit --malleable=4:8
wait_for 30 "start on one node" runs_on 4 1 1
scancel "$blocker"
wait_for 60 "growth to two nodes" runs_on 8 2 2
wait_for 10 "two launchers" has_tasks "$(run_of)" 2
grown "$(run_of)" >"$top/got"
printf '2 2 1 4 - - - - - - 127.0.0.1\n%.0s' 1 2 | diff - "$top/got" | sed 's/^/# /' | grep . &&
    fail "the launchers of the larger size (< expected, > found)"
grep -q 'per node: 4 GPUs, 1 tasks; 2 nodes' "$directory/out" || fail "the script: $(grep 'per node' "$directory/out")"
check_steps
as_user scancel "$job"

# ---- jobs that are not malleable ----------------------------------------------------------------------
script rigid '--nodes=1
--ntasks-per-node=2
--gpus-per-node=2' "srun $top/worker $top/rigid"
submit
wait_for 20 "tasks of a rigid job" has_tasks 0 2
[ -z "$(cat "$directory"/env.* | grep -E '^(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_|PL_TRAINER|RINGRT_STEP)')" ] || fail "a rigid job's tasks were changed"
as_user scancel "$job"
note "measured: $count headers taken; 2 tasks a node from 1 node to 2 and one task a node from 1 to 2, as $user"

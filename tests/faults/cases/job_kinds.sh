# SPDX-License-Identifier: BSD-3-Clause
# --export=NONE, two steps in one job, heterogeneous jobs, salloc: each works, or is refused at submission
# with the reason (F34).
count=0
start_job bare --malleable=1:16 --export=NONE -- 100000 100
wait_for 30 "start with --export=NONE" runs_with "$job" 16
guest=$(rigid 8 300 -N2)
wait_for 40 "its resize" runs_with "$job" 8
check_steps
clear_jobs
count=$((count + 1))

# Two consecutive steps on all nodes. Concurrent steps on one node only: Slurm 22.05 itself refuses any `srun
# --overlap` of a job with GPUs on several nodes ("Insufficient GRES available").
two_steps() { # NAME MIN:MAX FIRST-STEP OPTION-OF-THE-SECOND GPUS-AFTER GUEST...: a job of two steps, resized
    directory=$work/$1
    mkdir -p "$directory"
    printf '#!/bin/bash\n%s\nsrun %s %s --worker %s 100000 0.1 save\n' "$3" "$4" "$plain_job" "$directory" >"$directory.sh"
    job=$(timeout 20 sbatch --parsable --malleable="$2" -o "$directory/out" "$directory.sh") || fail "sbatch refused two sruns"
    wait_for 30 "start of a job of two steps" is_state "$job" RUNNING
    wait_for 40 "its steps" has_steps 10
    local guest
    for guest in "${@:6}"; do
        # shellcheck disable=SC2086
        rigid $guest >/dev/null
    done
    wait_for 40 "resize of a job of two steps" runs_with "$job" "$5"
    wait_for 40 "more steps" has_steps $(($(steps_done) + 5))
    check_steps
    clear_jobs
    count=$((count + 1))
}
two_steps after 1:16 'srun -n1 -N1 --gpus=1 true' '' 8 '8 300 -N2'
two_steps beside 1:4 'srun --overlap -n1 -N1 sleep 600 &' --overlap 2 '12 300 -N3' '2 300 -N1'

refused() { # EXPECTED COMMAND...
    local expected=$1 said
    shift
    said=$(timeout 20 "$@" 2>&1) && fail "accepted: $*"
    grep -qF -- "$expected" <<<"$said" || fail "$* said: ${said:0:300}"
    count=$((count + 1))
}
refused 'expected a batch job' salloc --malleable=1:4 true
refused 'expected a batch job' srun --malleable=1:4 true
# Slurm accepts heterogeneous jobs only if SchedulerType is literally sched/backfill.
timeout 20 sbatch --malleable=1:4 : --gpus=1 --wrap true >"$work/said" 2>&1 && fail "a heterogeneous job was accepted"
count=$((count + 1))
injected $count

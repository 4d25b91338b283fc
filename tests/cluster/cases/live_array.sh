# SPDX-License-Identifier: BSD-3-Clause
# resize: live: the tasks of an array grow and shrink in place. Each task has its own extensions, which find
# its task number in their environment. This holds for the last task, whose number is the array's, and while
# the array's own limit holds other tasks back.
. "$here/live.sh"
user=nobody directory=$work/live_array steps=250
own_directory
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
# shellcheck disable=SC2016 # the job's own
array=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --array=0-3%3 --malleable=1:4 -o "$directory/task%a" \
    --wrap "srun bash -c 'echo \$SLURM_ARRAY_TASK_ID >>$directory/ranks; exec $live $steps 200'") || fail "sbatch refused the array"
all_grew() { [ "$(timeout 5 squeue -h -t R -o %j | grep -c '+[12]$')" -ge 6 ]; }
wait_for 60 "two extensions of each task" all_grew
guest=$(rigid 8 3 -N2)
wait_for 20 "GPUs given back in place" is_state "$guest" "RUNNING COMPLETING COMPLETED"
for i in 0 1 2 3; do
    base=${array}_$i
    wait_for 90 "end of task $i" is_state "$base" COMPLETED
    check_never_restarted
    cp "$directory/task$i" "$directory/base"
    check_each_step_once $steps $steps
done
wait_for 20 "end of the extensions" no_jobs
for i in 0 1 2; do
    [ "$(grep -cx "$i" "$directory/ranks")" -ge 4 ] || fail "ranks of task $i: $(sort "$directory/ranks" | uniq -c | xargs)"
done
! grep -qvx '[0-3]' "$directory/ranks" || fail "ranks without a task: $(sort "$directory/ranks" | uniq -c | xargs)"

# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 400
# ringrt.torch.malleable() with the real torch on a real cluster: 1, 4, 2, 1 GPUs. Each sample is used once an
# epoch, and the weights equal those of a run at one size.
. "$here/torch.sh"
need_modules torch
own_port
package=$here/../../python directory=$work/torch epochs=8
export PYTHONPATH=$package
mkdir -p "$directory"
train="$package/tests/train_torch.py distributed"

most=$(rigid 12 600 -N3) more=$(rigid 3 600 -N1)
wait_for 20 "start of the first rigid jobs" is_state "$more" RUNNING
job=$(DIRECTORY=$directory timeout 20 sbatch --parsable --malleable=1:4 --chdir="$directory" --output="$directory/out" --open-mode=append \
    --export=ALL --wrap "export RINGRT_CHECKPOINT_DIR=$directory/ckpt RINGRT_TELEMETRY_S=1; exec srun $python $train 0.15 0 $epochs") ||
    fail "sbatch refused it"
wait_for 90 "steps on 1 GPU" trained_on 1 8
scancel "$more"
wait_for 90 "steps on 4 GPUs" trained_on 4 5
second=$(rigid 2 600 -N1)
wait_for 90 "steps on 2 GPUs" trained_on 2 4
before=$(steps_at 1)
third=$(rigid 1 600 -N1)
wait_for 90 "steps on 1 GPU again" trained_on 1 $((before + 8))
scancel "$most" "$second" "$third"
wait_for 200 "end of the training" is_state "$job" COMPLETED
each_sample_once $epochs
note "measured: $(ls "$directory"/seen.*.0 | wc -l) runs, $(steps_at 1), $(steps_at 2), $(steps_at 4) micro-batches of rank 0 on 1, 2, 4 GPUs"
weights_as_at_fixed_size "$package/tests/train_torch.py distributed 0 0 $epochs"

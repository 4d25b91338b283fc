# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 1200
# Unmodified scripts of the Hugging Face Trainer and of Lightning resized in place on a real Slurm, one after the
# other: extensions join while the training is alone on the cluster, and leave when a rigid job is pending.
. "$here/live_torch.sh"
need_modules "lightning, transformers, accelerate"
tests=$package/tests
mkdir -p "$work/frameworks"
install_package "$work/frameworks"
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
resized() { # NAME COMMAND ALONE
    directory=$work/$1
    rank_program 8 "$2" "$3"
    submit_live 1:4
    grown 4
    rigid=$(rigid 12 20 --nodes=4 --gpus-per-node=3)
    wait_for 60 "GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
    check_training 300
    ! grep 'not malleable\|not resized in place' "$directory/out" || fail "$1 was not resized in place"
    scancel "$rigid"
}
resized transformers "$tests/train_hf.py 0.2 0 8" "$tests/train_hf.py 0 0 8"
resized lightning "$tests/train_lightning.py 0.2 4 0 8" "$tests/train_lightning.py 0 4 0 8"

# SPDX-License-Identifier: BSD-3-Clause
# The checkpoint disk is full when a job is asked to resize. The resize is called off, training continues at
# its size, and the log reports what was missing. Once there is room, the job resizes (F12).
. "$here/../faults/training.sh"
disk=$work/disk
mkdir -p "$disk"
mount -t tmpfs -o size=2m tmpfs "$disk" 2>/dev/null || { note "skipped: cannot mount a small tmpfs here"; exit 77; }
trap 'umount -l "$disk"' EXIT
RINGRT_CHECKPOINT_DIR=$disk/ckpt
export RINGRT_CHECKPOINT_DIR
start_training full 1:16 400
wait_for 60 "steps on 16 GPUs" trained_on 10 16
head -c 4000000 /dev/zero >"$disk/filler" 2>/dev/null
guest=$(rigid 8 300 -N2)
wait_for 30 "request" has_event "$job" asked
wait_for 30 "word of the full disk in the job's log" grep -qiE 'no space left' "$directory/out"
note "the job's log: $(grep -iE 'no space left' "$directory/out" | head -1)"
before=$(wc -l <"$directory/steps.csv")
wait_for 30 "ten more steps on 16 GPUs" trained $((before + 10))
is_state "$job" RUNNING || fail "the job is $(state_of "$job")"
# Without a checkpoint it asks for no requeue: on a disk that stays full it would restart forever.
scontrol -o show job "$job" | grep -q ' Restarts=0 ' || fail "requeued without a checkpoint"
rm "$disk/filler"
wait_for 160 "the resize, with room again" trained_on 10 8
check_training
injected 1

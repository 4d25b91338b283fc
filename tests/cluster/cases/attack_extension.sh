# SPDX-License-Identifier: BSD-3-Clause
# resize: live. What an owner may do to an extension of hers, one thing after the other, and storms of signals to base
# and extension: the base never restarts and does each step once. Another user's job that names her base is no part
# of it, and her own job with an extension's name is left alone.
# seconds: 400
. "$here/site.sh"
. "$here/live.sh"
sed -i '$aresize: live' "$work/malleable.yaml"
sed -i 's/back_off_s: .*/back_off_s: 2/' "$work/malleable.yaml"
site_up
directory=$dir/home/alice/train
as alice mkdir -p "$directory"
namesake=$(as alice sbatch --parsable -J train+1 -D / -o /dev/null --exclude=n1,n2 --gpus=1 --wrap "sleep 900")
base=$(as alice env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train -D "$directory" -o "$directory/base" --malleable=1:4 \
    --exclude=n2,n3 --wrap "srun -n \$SLURM_NTASKS $live 100000 100") || fail "sbatch refused the base"
job=$base
wait_for 60 "four ranks" base_has 4
extension() { as alice squeue -h --me -t R -o %i | grep -vx -e "$namesake" -e "$base" | sort -n | head -n 1; }
has_extension() { [ -n "$(extension)" ]; }
count=0
while read -r command; do
    wait_for 60 "four ranks before: $command" base_has 4
    wait_for 60 "an extension before: $command" has_extension
    # shellcheck disable=SC2086 # words
    as alice timeout 20 ${command//EXTENSION/$(extension)} </dev/null >/dev/null 2>&1 # Slurm refuses some
    count=$((count + 1))
    sleep 1
done <<'COMMANDS'
scontrol requeue EXTENSION
scontrol hold EXTENSION
scontrol requeuehold EXTENSION
scontrol update jobid=EXTENSION partition=large timelimit=1
scontrol update jobid=EXTENSION dependency=singleton
scontrol update jobid=EXTENSION starttime=now+1hour
scontrol update jobid=EXTENSION comment=extension/1
scontrol update jobid=EXTENSION numnodes=1 numtasks=4
scontrol update jobid=EXTENSION jobname=other
srun --jobid=EXTENSION --overlap -n1 true
scancel -s URG EXTENSION
scancel -s KILL EXTENSION
scancel EXTENSION
COMMANDS
wait_for 60 "four ranks after all" base_has 4
stopped=$(extension)
for signal in STOP CONT; do as alice timeout 20 scancel -s $signal "$stopped" && sleep 2; done
wait_for 60 "four ranks after a stop" base_has 4
for signal in URG USR1 CONT; do
    for _ in 1 2 3 4 5; do as alice timeout 20 scancel -s $signal "$(extension)" >/dev/null 2>&1; done
done
wait_for 60 "four ranks after the storm" base_has 4

# bob's ranks find no address that they may read, and end or wait: four stay four.
as bob mkdir -p "$dir/home/bob/intruder"
intruder=$(as bob env RINGRT_EXTENDS="$base" RINGRT_LIVE_RESIZE=1 RINGRT_CHECKPOINT_DIR="$directory/checkpoints" RINGRT_START_TIMEOUT_MS=5000 \
    sbatch --parsable -D "$dir/home/bob/intruder" -o "$dir/home/bob/intruder/out" --exclude=n1,n3 --gpus=1 -n1 --wrap "srun $live 100000 100")
wait_for 60 "end of bob's job" is_state "$intruder" "FAILED COMPLETED"
base_has 4 || fail "the base has $(last_ranks) ranks"
grep -q '^step' "$dir/home/bob/intruder/out" && fail "bob's job did steps"
is_state "$namesake" RUNNING || fail "her own job train+1 is $(state_of "$namesake")"
check_never_restarted
check_each_step_once 1 100000
note "measured: $count commands"

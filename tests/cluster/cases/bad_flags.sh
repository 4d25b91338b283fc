# SPDX-License-Identifier: BSD-3-Clause
# A request that cannot be served is refused at submission, in one line that shows what was received and what
# is valid (F41).
refused() { # EXPECTED_TEXT COMMAND...
    local expected=$1 said
    shift
    said=$(timeout 20 "$@" 2>&1) && fail "accepted: $*"
    grep -qF -- "$expected" <<<"$said" || fail "$* said: ${said:0:300}"
    count=$((count + 1))
}
count=0
for range in '' : 1: :8 0:8 -1:4 8:1 1e9:2e9 '2:4;rm' 1:2:3 a:b '1:8 ' 65537:70000 "$(printf '1:\0018')"; do
    refused 'for example 2:8' sbatch --malleable="$range" --wrap true
done
refused '...' sbatch --malleable="$(head -c 100000 /dev/zero | tr '\0' 9)" --wrap true
job=(sbatch --wrap true --malleable=1:8)
refused 'for example URG' "${job[@]}" --malleable-signal=FOO
refused 'for example URG' "${job[@]}" --malleable-signal=KILL
for signal in CHLD TERM 15 INT 2 HUP QUIT CONT SEGV 32; do
    refused 'expected a signal that nothing else sends' "${job[@]}" --malleable-signal=$signal
done
refused 'expected --malleable as well' sbatch --wrap true --malleable-grace=30
refused 'expected --malleable as well' sbatch --wrap true --malleable-signal=USR1
refused 'expected --malleable as well' sbatch --wrap true --malleable-pause
SBATCH_MALLEABLE_PAUSE=0 refused 'expected no value, or SBATCH_MALLEABLE_PAUSE=1, got "0"' "${job[@]}"
refused 'for example 2:00' "${job[@]}" --malleable-grace=soon
for option in --nodes=1-4 --exclusive --no-requeue --deadline=now+2hours --nodelist=n1 --mincpus=8; do
    refused "leave out --" "${job[@]}" "$option"
done
if sbatch --segment=2 --version >/dev/null 2>&1; then refused 'leave out --segment=2' "${job[@]}" --segment=2; fi # 24.05
refused 'one task per GPU' "${job[@]}" --gpus=4 --ntasks=2
refused 'got "--nodes=2"' "${job[@]}" --nodes=2
refused '2 tasks and 4 GPUs a node' "${job[@]}" --ntasks-per-node=2 --gpus-per-node=4
refused 'at most the 4 GPUs of a node' "${job[@]}" --ntasks-per-node=8 --gpus-per-node=8
refused 'share evenly (for example 2:8)' sbatch --wrap true --malleable=3:12 --ntasks-per-node=2 --gpus-per-node=2
refused 'at most the 16 GPUs' sbatch --wrap true --malleable=1:64
refused '(for example 3:12)' sbatch --wrap true --malleable=3:96
refused '(for example 1:16)' sbatch --wrap true --malleable=20:40
refused 'expected a batch job' srun --malleable=1:8 true
refused 'expected a batch job' salloc --malleable=1:8 true
# A partition of whole nodes. The controller lists partitions every few seconds.
whole() { timeout 20 sbatch -o /dev/null --wrap true --malleable=1:8 2>&1 | grep -q "got the default partition, which allocates whole nodes"; }
timeout 10 scontrol update partitionname=main oversubscribe=exclusive
wait_for 40 "refusal in a partition of whole nodes" whole
count=$((count + 1))
timeout 10 scontrol update partitionname=main oversubscribe=no
is_usual() { ! whole; }
wait_for 40 "the usual partition" is_usual
clear_jobs
# A profile may set how malleable jobs are signalled. Other jobs are not affected.
other=$(SBATCH_MALLEABLE_GRACE=5:00 SBATCH_MALLEABLE_SIGNAL=USR1 SBATCH_MALLEABLE_PAUSE=1 timeout 20 sbatch --parsable -o /dev/null --wrap true) ||
    fail "a variable made a job that is not malleable fail"
wait_for 20 "its end" is_state "$other" COMPLETED
[ -z "$(squeue -h)" ] || fail "a job is there: $(squeue -h)"
note "measured: $count bad submissions refused"
[ $count -ge 16 ]

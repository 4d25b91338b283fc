# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 600
# Unmodified scripts of Lightning (its literals are those of one size) and of the Hugging Face Trainer as
# ordinary batch scripts: 1, 4, 2 GPUs and 1, 2 GPUs. Each step is done once, and each sample is used once an
# epoch.
. "$here/torch.sh"
need_modules "lightning, transformers, accelerate"
tests=$here/../../python/tests top=$work/frameworks
mkdir -p "$top"
install_package "$top"
own_port
goes_on() { ! is_state "$job" "FAILED CANCELLED" || { tail -n 20 "$DIRECTORY/said" | cut -c1-200 | sed 's/^/# /'; fail "the training ended"; }; }
trained_at() { # GPUS STEPS: a run at that size has written at least that many lines
    local run
    goes_on
    for run in "$DIRECTORY"/seen.*.0; do
        [ "$(ls "${run%.0}".* 2>/dev/null | wc -l)" = "$1" ] && [ "$(wc -l <"$run")" -ge "$2" ] && return
    done
    return 1
}
submit() { # NAME COMMAND: sets $job and $DIRECTORY
    export DIRECTORY=$top/$1
    mkdir -p "$DIRECTORY"
    printf '#!/bin/bash\n#SBATCH --job-name=%s\n#SBATCH --gpus=1\n#SBATCH --open-mode=append\nsrun %s\n' "$1" "$2" >"$DIRECTORY/job.sh"
    job=$(timeout 20 sbatch --parsable --malleable=1:4 --chdir="$DIRECTORY" --output=said "$DIRECTORY/job.sh") || fail "sbatch refused it"
}
check() { # NAME: of both scripts: 3 epochs of 203 samples in 13 steps
    ! grep -h 'not malleable' "$DIRECTORY/said" || fail "$1 was not made malleable"
    cat "$DIRECTORY"/seen.* | awk '{ steps[$2] = 1; for (i = 3; i <= NF; i++) { seen[int($2 / 13) " " $i]++; n++ } }
        END { for (s in steps) many++
              for (s in seen) if (seen[s] != 1) { print "# epoch and sample " s ": " seen[s] " times"; bad = 1 }
              if (n != 203 * 3 || many != 39) { print "# " n " samples, " many " steps"; bad = 1 }
              exit bad }' || fail "$1: not each sample once an epoch"
    note "measured: $1: $(ls "$DIRECTORY"/seen.*.0 | wc -l) runs, each of 203 samples once in each of 3 epochs, 39 steps once"
}

most=$(rigid 12 900 -N3) more=$(rigid 3 900 -N1)
wait_for 20 "start of the first rigid jobs" is_state "$more" RUNNING
submit lightning "$python $tests/train_lightning.py 0.4 4 0"
wait_for 90 "steps on 1 GPU" trained_at 1 3
scancel "$more"
wait_for 150 "steps on 4 GPUs" trained_at 4 3
second=$(rigid 2 900 -N1)
wait_for 150 "steps on 2 GPUs" trained_at 2 2
wait_for 200 "end of the training" is_state "$job" COMPLETED
check lightning

third=$(rigid 1 900 -N1)
wait_for 20 "start of the third rigid job" is_state "$third" RUNNING
submit transformers "$python $tests/train_hf.py 0.4 0"
wait_for 90 "steps on 1 GPU" trained_at 1 3
scancel "$third"
wait_for 150 "steps on 2 GPUs" trained_at 2 3
scancel "$second" "$most"
wait_for 200 "end of the training" is_state "$job" COMPLETED
check transformers

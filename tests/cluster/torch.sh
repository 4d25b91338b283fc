# SPDX-License-Identifier: BSD-3-Clause
# Shared by the cases with the real torch, which source it.
# shellcheck shell=bash disable=SC2154
python=${RINGRT_TORCH_PYTHON:-python3}
need_modules() { # "torch, submitit"
    # Runs in /, because the current directory may contain one called torch, which python takes for a package
    # without modules.
    (cd / && "$python" -c "import $1") 2>/dev/null || skip "not all of $1 in $python"
}
export RINGRT_LIBRARY=${RINGRT_LIBRARY:-$plugins/libringrt.so} PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
# SPANK derives the port from the job's number, and another case's cluster on this machine has the same
# numbers.
own_port() {
    MASTER_PORT=$("$python" -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
    export MASTER_PORT
}
install_package() { # DIRECTORY
    "$here/../../python/install" "$python" "$1" || fail "the package cannot be installed"
    export PYTHONPATH=$1/installed
}

# Of python/tests/train_torch.py, in $directory:
steps_at() { # GPUS: of the job's runs at that size
    local run
    for run in "$directory"/seen.*.0; do
        [ "$(ls "${run%.0}".* 2>/dev/null | wc -l)" != "$1" ] || wc -l <"$run"
    done | awk '{ n += $1 } END { print n + 0 }'
}
trained_on() { [ "$(steps_at "$1")" -ge "$2" ]; }
each_sample_once() { # EPOCHS
    cat "$directory"/seen.* | awk -v epochs="$1" '{ steps[$2] = 1; for (i = 3; i <= NF; i++) { seen[$1 " " $i]++; n++ } }
        END { for (s in steps) many++
              for (s in seen) if (seen[s] != 1) { print "# epoch and sample " s ": " seen[s] " times"; bad = 1 }
              if (n != 203 * epochs || many != 13 * epochs) { print "# " n " samples, " many " steps"; bad = 1 }
              exit bad }' || fail "not each sample once an epoch"
}
weights_as_at_fixed_size() { # COMMAND: the training's program, undisturbed
    mkdir -p "$directory/fixed"
    # shellcheck disable=SC2086
    env -u SLURM_JOB_ID DIRECTORY="$directory/fixed" RINGRT_MALLEABLE=1:4 RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 \
        MASTER_PORT=0 PL_TRAINER_DEVICES=1 PL_TRAINER_NUM_NODES=1 "$python" $1 >"$directory/fixed/said" 2>&1 ||
        { tail -n 5 "$directory/fixed/said"; fail "the run at fixed size"; }
    "$python" - "$directory/result" "$directory/fixed/result" <<'END' || fail "other weights than at fixed size"
import sys, torch
one, other = (torch.load(path) for path in sys.argv[1:])
worst = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(one["net"].values(), other["net"].values()))
print(f"# measured: weights differ by at most {worst:.1e} from a run at fixed size")
sys.exit(not (one["steps"] == other["steps"] and one["sched"] == other["sched"] and worst < 1e-6))
END
}

# SPDX-License-Identifier: BSD-3-Clause
# contrib/test --stages torch: the Python package with the real PyTorch and frameworks, which pip
# installs into the build directory; torch-short: some of its tests with only PyTorch. The download
# runs at the same time as the other stages. torch-versions: with the last three minor versions of each.
# Sourced by contrib/test.
# shellcheck shell=bash disable=SC2154

# PyPI's torch is built for CUDA, but imports on a CPU if it finds the CUDA toolkit's libraries. The
# dependencies that it needs are named, because all of them are twice as much.
torch_alone="torch nvidia-nccl-cu13 nvidia-cufile nvidia-cusparselt-cu13 nvidia-nvshmem-cu13"
torch_needs="setuptools<80 wheel fsspec filelock sympy networkx jinja2 numpy typing_extensions"
frameworks="lightning pytorch-lightning lightning-utilities torchmetrics transformers accelerate submitit"
frameworks_need="cloudpickle tqdm pyyaml regex safetensors huggingface-hub tokenizers psutil packaging typer aiohttp"

fetch_torch() { # INTO [frameworks]
    local python=$1/bin/python
    local pip="$python -m pip --no-input --retries 1 --timeout 30 install --quiet --disable-pip-version-check"
    python3 -m venv "$1" || return
    # shellcheck disable=SC2086
    $pip $torch_needs && $pip --no-compile --no-deps $torch_alone || return
    # Compiles what the tests import, once.
    "$python" -c 'import torch._dynamo, torch.distributed.checkpoint, torch.distributed.fsdp' || return
    # shellcheck disable=SC2086
    [ -z "${2:-}" ] || { $pip $frameworks_need && $pip --no-deps $frameworks && "$python" -c 'import lightning, transformers' && $pip jax; }
}

fetch_torch_aside() { # [frameworks]
    [ -z "${RINGRT_TORCH_PYTHON:-}" ] || return 0
    set -m # its own process group, so that it can be ended
    (renice -n 10 "$BASHPID" >/dev/null; fetch_torch "$build_dir/torch-venv" "$@") >"$logs/torch-fetch.log" 2>&1 &
    torch_fetched=$!
    set +m
    trap end_torch_fetch EXIT
}
end_torch_fetch() { [ -z "$torch_fetched" ] || kill -TERM -- "-$torch_fetched" 2>/dev/null; }
is_fetching_torch() { [ -n "${torch_fetched:-}" ] && kill -0 "$torch_fetched" 2>/dev/null; }

# The download has had the time of the other stages, so a slow one is not a failure.
stage_torch_short() {
    local i
    for ((i = 0; i < 60; i++)); do
        is_fetching_torch || break
        sleep 1
    done
    if is_fetching_torch; then
        end_torch_fetch
        echo "the download took longer than the other stages" >>"$logs/torch-fetch.log"
    fi
    RINGRT_SHORT=1 test_torch torch
}

stage_torch() { test_torch wheel torch frameworks jax; }

stage_torch_versions() {
    local result=PASS begin=$SECONDS log=$logs/torch-versions.log
    echo "torch, the last three minor versions:"
    (cd "$build_dir" && "$source_dir/python/tests/versions") >"$log" 2>&1 || { [ $? = 77 ] && result=SKIP || result=FAIL; }
    tell python/tests/versions $result "$log"
    sed -n '/ # SKIP /!s,^ok [0-9]* - ,    ,p' "$log"
    echo "  took $((SECONDS - begin)) s"
}

test_torch() { # CHECK...: of python/tests
    local name log begin result python=${RINGRT_TORCH_PYTHON:-$build_dir/torch-venv/bin/python}
    local fetched=${torch_fetched:-}
    [ -z "$fetched" ] || wait "$fetched" || fetched=failed
    torch_fetched=''
    if [ "$fetched" = failed ]; then
        echo "torch: skipped: $(tail -n 1 "$logs/torch-fetch.log")"
        count torch 0 0 1 "$logs/torch-fetch.log"
        return
    fi
    echo "torch:"
    begin=$SECONDS
    for name in "$@"; do
        log=$logs/torch-$name.log
        (cd "$build_dir" && RINGRT_TORCH_PYTHON=$python srcdir=$source_dir "$source_dir/python/tests/check-$name") >"$log" 2>&1
        case $? in
        0) result=PASS ;;
        77) result=SKIP ;;
        *) result=FAIL ;;
        esac
        tell "python/tests/check-$name" "$result" "$log"
    done
    echo "  took $((SECONDS - begin)) s"
}

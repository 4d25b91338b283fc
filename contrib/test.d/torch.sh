# SPDX-License-Identifier: BSD-3-Clause
# contrib/test --stages torch: the Python package with the real PyTorch and frameworks, which pip installs into a
# folder of the build's. The download runs beside the other stages. Sourced by contrib/test.
# shellcheck shell=bash disable=SC2154

# PyPI's torch is built for CUDA and imports on a CPU once the CUDA toolkit's libraries are found; what it takes of
# its dependencies is named, as all of them are twice as much.
torch_itself="torch nvidia-nccl-cu13 nvidia-cufile nvidia-cusparselt-cu13 nvidia-nvshmem-cu13 lightning pytorch-lightning
    lightning-utilities torchmetrics transformers accelerate submitit"
torch_needs="setuptools<80 wheel fsspec filelock sympy networkx jinja2 numpy typing_extensions cloudpickle tqdm pyyaml regex
    safetensors huggingface-hub tokenizers psutil packaging typer aiohttp"

fetch_torch() { # INTO
    local pip="$1/bin/python -m pip --no-input --retries 1 --timeout 30 install --quiet --disable-pip-version-check"
    python3 -m venv "$1" || return
    # shellcheck disable=SC2086
    $pip $torch_needs && $pip --no-deps $torch_itself && "$1/bin/python" -c 'import torch, lightning, transformers'
}

fetch_torch_aside() {
    [ -z "${RINGRT_TORCH_PYTHON:-}" ] || return 0
    (renice -n 19 "$BASHPID" >/dev/null; fetch_torch "$build_dir/torch") >"$logs/torch-fetch.log" 2>&1 &
    torch_fetched=$!
}

stage_torch() {
    local name log begin result python=${RINGRT_TORCH_PYTHON:-$build_dir/torch/bin/python}
    if [ -n "${torch_fetched:-}" ] && ! wait "$torch_fetched"; then
        echo "torch: skipped: $(tail -n 1 "$logs/torch-fetch.log")"
        count torch 0 0 1 "$logs/torch-fetch.log"
        return
    fi
    echo "torch:"
    begin=$SECONDS
    for name in wheel torch frameworks; do
        log=$logs/torch-$name.log
        (cd "$build_dir" && RINGRT_TORCH_PYTHON=$python srcdir=$source_dir "$source_dir/python/tests/check-$name") >"$log" 2>&1
        case $? in
        0) result=PASS ;;
        77) result=SKIP ;;
        *) result=FAIL && tail -n 20 "$log" ;;
        esac
        tell "python/tests/check-$name" "$result" "$log"
    done
    echo "  took $((SECONDS - begin)) s"
}

# SPDX-License-Identifier: BSD-3-Clause
# What the cases with the real torch need. Sourced by them.
# shellcheck shell=bash disable=SC2154
python=${RINGRT_TORCH_PYTHON:-python3}
need_modules() { # "torch, submitit"
    "$python" -c "import $1" 2>/dev/null || skip "not all of $1 in $python"
}
export RINGRT_LIBRARY=${RINGRT_LIBRARY:-$plugins/libringrt.so} PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
# SPANK's port comes from the job's number: another case's cluster on this machine has the same numbers.
own_port() {
    MASTER_PORT=$("$python" -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
    export MASTER_PORT
}
install_package() { # FOLDER
    "$here/../../python/tests/install" "$python" "$1" || fail "the package cannot be installed"
    export PYTHONPATH=$1/installed
}

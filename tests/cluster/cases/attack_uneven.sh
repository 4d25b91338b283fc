# SPDX-License-Identifier: BSD-3-Clause
# Malleable jobs on two of four nodes do not block a job whose GPUs do not divide evenly by the nodes. For
# Slurm --gpus=14 is 3, 3, 4 and 4, which fits once each of the two has given back what it borrowed.
served() { # GPUS OPTIONS...: of a rigid job
    local name
    for name in a b; do
        start_job "$name$1" --malleable=1:4 -- 100000 100
        wait_for 40 "run with 4" runs_with "$job" 4
    done
    guest=$(rigid "$1" 300 "${@:2}")
    wait_for 60 "start of a rigid job of $*" is_state "$guest" RUNNING
    check_steps
    clear_jobs
}
served 14
served 10
served 13 -N4

# SPDX-License-Identifier: BSD-3-Clause
# One user's malleable jobs borrow every GPU that another user's malleable job may use, while GPUs are idle that it may
# not use: those of a node in another partition, then those of another type in its own partition. It gets its MIN back
# all the same, from as few jobs as necessary.
. "$here/site.sh"
site_up
running_gpus() { as "$1" squeue -h --me -t R -o %i | while read -r id; do gpus_of "$id"; done | awk '{ n += $1 } END { print n + 0 }'; }
has_gpus() { [ "$(running_gpus "$1")" = "$2" ]; } # USER GPUS
try() { # NAME SBATCH_OPTIONS...
    local i name=$1
    shift
    for i in 1 2 3 4 5; do
        user_job alice "$name$i" "$@" --malleable=1:2 -- 100000 100
        wait_for 60 "two GPUs of alice's job $name$i" runs_with "$job" 2
    done
    user_job bob "$name" "$@" --malleable=1:2 -- 100000 100
    wait_for 40 "start of bob's job $name" is_state "$job" RUNNING
    wait_for 40 "alice's other GPUs" has_gpus alice 9
    sleep 4
    has_gpus alice 9 || fail "$name: alice has $(running_gpus alice) GPUs"
    check_steps
    wait_for 60 "end of all jobs" cancel_jobs
}
try partition --partition=main
try type --partition=large --gpus=a100:1

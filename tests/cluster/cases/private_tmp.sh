# SPDX-License-Identifier: BSD-3-Clause
# job_container/tmpfs: each job has its own /tmp and /dev/shm, in a mount namespace of its own. A malleable job is
# resized by requeue and in place. Ranks of an extension on the base's node do not see the base's /dev/shm: they
# use TCP.
# seconds: 400
# slurmstepd enters the job's mount namespace, whose root is not that of a chroot. contrib/root makes none.
[ "$(stat -c %d:%i /)" = "$(nsenter --mount=/proc/self/ns/mnt stat -c %d:%i /)" ] ||
    skip "in a chroot a process that enters a mount namespace leaves the chroot"
. "$here/live.sh"
user=nobody
# A job sees nothing that is in the node's /tmp, and slurmd accepts no BasePath there.
private=$(mktemp -d /var/tmp/ringrt-XXXXXX) && chmod 755 "$private" || fail "no directory"
printf 'AutoBasePath=true\nBasePath=@DIR@/private\n' >"$work/job_container.conf"
second_cluster --dir "$private/c" --nodes 2 --file "$work/job_container.conf" \
    --conf JobContainerType=job_container/tmpfs --conf PrologFlags=Contain
trap 'ended=$?; "$cluster" stop "$dir"; rm -rf "$private"; exit "$ended"' EXIT
work=$private

{
    head -n 1 "$plain_job"
    # shellcheck disable=SC2016 # in the job
    echo '[ "${1:-}" = --worker ] || { [ ! -e /tmp/mine ] || exit 9; touch /tmp/mine; }'
    tail -n +2 "$plain_job"
} >"$work/job.sh"
chmod 755 "$work/job.sh"
plain_job=$work/job.sh
start_job private --malleable=1:8 -- 100000 100
wait_for 60 "run with 8 GPUs" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10
guest=$(rigid 4 600 -N1)
wait_for 60 "start of a rigid job" is_state "$guest" RUNNING
wait_for 60 "run with 4 GPUs" runs_with "$job" 4
check_steps
[ ! -e /tmp/mine ] || fail "its /tmp is the node's"
scancel "$guest" "$job"
wait_for 30 "end of all jobs" no_jobs

directory=$work/in_place steps=300
mkdir "$directory" && chown "$user" "$directory" && cd "$directory" || fail "no directory"
set_yaml "$(cat "$dir/malleable.yaml")
resize: live"
base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J train --malleable=1:4 -o "$directory/base" --wrap "srun -n \$SLURM_NTASKS $live $steps 200") ||
    fail "sbatch refused the base"
wait_for 60 "four ranks" base_has 4
namespace_of() { # JOB
    local pid
    pid=$(timeout 10 scontrol listpids "$1.0" n1 | awk 'NR > 1 && $4 == 0 { print $1 }')
    readlink "/proc/$pid/ns/mnt"
}
extension=$(timeout 5 squeue -h -o '%i %j' | sed -n 's/ train+.*//p' | head -n 1)
[ -n "$extension" ] || fail "no extension"
[ "$(timeout 5 squeue -h -j "$extension" -o %N)" = n1 ] || fail "the extension is on another node"
[ "$(namespace_of "$base")" != "$(namespace_of "$extension")" ] || fail "base and extension share a mount namespace"
rigid=$(rigid 6 4 -N2 --gpus-per-node=3)
wait_for 60 "three GPUs given back" is_state "$rigid" "RUNNING COMPLETED"
wait_for 120 "end of the base" is_state "$base" COMPLETED
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted

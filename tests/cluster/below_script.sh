# SPDX-License-Identifier: BSD-3-Clause
# A job of contrib/examples/digits whose ranks run below another process than slurmstepd. Cases source it.
# shellcheck shell=bash disable=SC2154
need_digits
[ ! -x "$plugins/digits" ] || digits=$plugins/digits # not libtool's script

trained_on() { awk -F, -v gpus="$1" -v from="${rows:-1}" 'NR > from && $4 == gpus { n++ } END { exit n < 10 }' "$directory/steps.csv"; }

# resize_below NAME COMMAND...: COMMAND PROGRAM OPTION... starts the job's ranks. They grow from 4 GPUs to 8
# and shrink to 4 again. Sets $job and $directory.
resize_below() {
    directory=$work/$1
    shift
    mkdir -p "$directory"
    cp "$data" "$directory/digits.csv" && chmod 644 "$directory/digits.csv"
    [ -z "${user:-}" ] || chown "$user" "$directory"
    local blocker
    blocker=$(rigid 12 300 -N3)
    wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
    cat >"$directory/train.sh" <<END
#!/bin/bash
export RINGRT_CHECKPOINT_DIR=$directory/checkpoints RINGRT_TELEMETRY_S=1 LD_LIBRARY_PATH=$plugins
cat /proc/self/cgroup >$directory/cgroup
exec srun $* --data=$directory/digits.csv --epochs=3000 --device-ms-per-sample=5 --loss-csv=$directory/steps.csv
END
    job=$(cd "$directory" && as_user sbatch --parsable --malleable=1:8 --output="$directory/out" "$directory/train.sh") ||
        fail "sbatch refused it"
    trap 'status=$?; timeout 10 scancel "$job"; ended $status' EXIT
    wait_for 40 "ten steps on 4 GPUs" trained_on 4
    scancel "$blocker"
    wait_for 60 "ten steps on 8 GPUs" trained_on 8
    note "measured: grew, $(gap_of "$job") s from signal to running again"
    rows=$(wc -l <"$directory/steps.csv")
    blocker=$(rigid 12 300 -N3)
    wait_for 60 "start of the second rigid job" is_state "$blocker" RUNNING
    wait_for 40 "ten steps after it shrank" trained_on 4
    note "measured: shrank, $(gap_of "$job") s from signal to running again"
    ! has_event "$job" called_off || fail "a resize was called off"
    awk -F, 'NR > 1 && $1 != ++last { print "# step " $1 " where " last " was due"; bad = 1; exit } END { exit bad }' \
        "$directory/steps.csv" || fail "steps were lost or done twice"
}
ended() { exit "$1"; }

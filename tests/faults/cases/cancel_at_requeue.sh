# SPDX-License-Identifier: BSD-3-Clause
# scancel comes between a training's decision to leave and its requeue: the requeue of a job that was
# cancelled a moment before would let it run again (F24, I8). The training's scontrol does it so.
. "$here/../faults/training.sh"
mkdir -p "$work/wrapper"
cat >"$work/wrapper/scontrol" <<'END'
#!/bin/bash
[ "$1" = requeue ] || exec scontrol "$@"
# By a process that nobody ends: a request that is under way is not called back either.
setsid bash -c '
    trap "" TERM
    scancel "$SLURM_JOB_ID"
    for _ in $(seq 50); do
        scontrol -o show job "$SLURM_JOB_ID" | grep -q JobState=CANCELLED && break
        sleep 0.05
    done
    scontrol "$@"
    echo "$* $?" >>"$0"
' "$(dirname "$0")/asked" "$@"
END
# Over the channel the node's service would ask, and no scontrol could be put in its place.
printf '#!/bin/sh\nunset RINGRT_CHANNEL\nexec %s "$@"\n' "$digits" >"$work/wrapper/digits"
chmod +x "$work/wrapper/scontrol" "$work/wrapper/digits"
digits=$work/wrapper/digits
export RINGRT_SCONTROL=$work/wrapper/scontrol
for i in 1 2 3; do
    start_training "cancelled$i" 1:4 200
    wait_for 60 "steps" trained 10
    timeout 10 scancel --signal=URG "$job"
    wait_for 60 "end of the cancelled job" is_state "$job" CANCELLED
    sleep 6 # it would have been started by now
    is_state "$job" CANCELLED || fail "the cancelled job is $(state_of "$job")"
    [ "$(wc -l <"$work/wrapper/asked")" -ge "$i" ] || fail "no requeue was asked for: nothing was tried"
    clear_jobs
done
unset RINGRT_SCONTROL
injected 3

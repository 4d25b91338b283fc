# SPDX-License-Identifier: BSD-3-Clause
# Injects a scancel between a training's decision to leave and its requeue. A requeue just after the cancel
# would make the cancelled job run again (F24, I8). The training's scontrol is a wrapper that cancels first.
# The job must stay cancelled.
. "$here/../faults/training.sh"
mkdir -p "$work/wrapper"
cat >"$work/wrapper/scontrol" <<'END'
#!/bin/bash
[ "$1" = requeue ] || exec scontrol "$@"
# In a separate session that no signal to the job ends: a request under way cannot be revoked either.
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
# Over the channel the node's service would ask, and the wrapper for scontrol would not be used.
printf '#!/bin/sh\nunset RINGRT_CHANNEL\nexec %s "$@"\n' "$digits" >"$work/wrapper/digits"
chmod +x "$work/wrapper/scontrol" "$work/wrapper/digits"
digits=$work/wrapper/digits
export RINGRT_SCONTROL=$work/wrapper/scontrol
for i in 1 2 3; do
    start_training "cancelled$i" 1:4 200
    wait_for 60 "steps" trained 10
    timeout 10 scancel --signal=URG "$job"
    wait_for 60 "end of the cancelled job" is_state "$job" CANCELLED
    sleep 6 # by now it would have been started
    is_state "$job" CANCELLED || fail "the cancelled job is $(state_of "$job")"
    [ "$(wc -l <"$work/wrapper/asked")" -ge "$i" ] || fail "no requeue was asked for: nothing was tried"
    clear_jobs
done
unset RINGRT_SCONTROL
injected 3

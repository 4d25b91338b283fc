# SPDX-License-Identifier: BSD-3-Clause
# Sends the resize signal before the runtime is up, 0 to 3 s after the start. A training over libringrt
# without its handler yet must survive (F05). The case sends it, because the controller waits for the runtime.
. "$here/../faults/training.sh"
count=0
for after_s in 0 0.3 0.6 1 1.5 2 3; do
    start_training "early-$after_s" 1:4 60
    wait_for 40 "start" is_state "$job" RUNNING
    sleep "$after_s"
    for _ in 1 2 3 4 5; do timeout 10 scancel --signal=URG "$job"; done
    count=$((count + 5))
    wait_for 60 "steps after a signal $after_s s after the start" trained 10
    # If the runtime received the signal, the training saves, leaves and restarts without help.
    is_state "$job" "RUNNING COMPLETING PENDING" || fail "the job is $(state_of "$job")"
    wait_for 60 "more steps after it" trained 40
    check_training
    clear_jobs
done
injected $count

# SPDX-License-Identifier: BSD-3-Clause
# A user gets one mail when the training begins and one when it ends, not two for each resize. Afterwards the
# job has its own mail type again, so a requeue by its user sends a mail. MailProg records its arguments.
cp "$dir/slurm.conf" "$work/slurm.conf.before"
put_back() {
    cp "$work/slurm.conf.before" "$dir/slurm.conf"
    timeout 20 scontrol reconfigure
}
trap put_back EXIT
printf '#!/bin/sh\necho "$2" >>%s\n' "$work/mails" >"$work/mail"
chmod +x "$work/mail"
echo "MailProg=$work/mail" >>"$dir/slurm.conf"
timeout 20 scontrol reconfigure || fail "reconfigure"

mails_of() { sed -n "s/^Slurm Job_id=$job .* \(Began\|Requeued\|Ended\|Failed\),.*/\1/p" "$work/mails" 2>/dev/null | xargs; }
have_come() { [ "$(mails_of)" = "$1" ]; }
type_of() { timeout 10 scontrol -o show job "$job" | sed -n 's/.* MailType=\([^ ]*\).*/\1/p'; }
has_type() { [ "$(type_of)" = "$1" ]; }
resized_twice() { # its GPUs are taken and returned
    guest=$(rigid 8 300 -N2)
    wait_for 60 "run with 8" runs_with "$job" 8
    timeout 10 scancel "$guest"
    wait_for 60 "run with 16" runs_with "$job" 16
    wait_for 10 "own mail type" has_type "$1"
}

start_job all --malleable=1:16 --mail-type=ALL -- 250 100
wait_for 30 "start" runs_with "$job" 16
has_type "${all:=$(type_of)}" && [[ $all == *BEGIN*REQUEUE* ]] || fail "mail type $all"
resized_twice "$all"
wait_for 60 "end" is_state "$job" COMPLETED
wait_for 10 "two mails: $(mails_of)" have_come "Began Ended"
check_steps
clear_jobs

# Only the mail types that the controller suppresses, then a requeue by the user.
start_job begin --malleable=1:16 --mail-type=BEGIN,REQUEUE -- 100000 100
wait_for 30 "start" runs_with "$job" 16
resized_twice BEGIN,REQUEUE
sleep 2
have_come "Began" || fail "mails of its runs: $(mails_of)"
timeout 10 scontrol requeue "$job"
wait_for 20 "mail of its user's requeue" have_come "Began Requeued"
clear_jobs

# Called off: no mail is suppressed any more.
start_job silent --malleable=1:16 --malleable-grace=0:04 --mail-type=ALL -- 100000 100 ignore
wait_for 30 "start" runs_with "$job" 16
guest=$(rigid 8 300 -N2)
wait_for 20 "request" intent_is "$job" asked
wait_for 5 "mails kept back" bash -c "! timeout 10 scontrol -o show job $job | grep -q 'MailType=.*BEGIN'"
wait_for 40 "own mail type after it was called off" has_type "$all"
clear_jobs

# For an array Slurm sends summary mails: when the first task begins, and at the end, then also that tasks
# were requeued.
start_job tasks --malleable=1:8 --array=0-1 --mail-type=ALL -- 100 100
array=$job
job=${array}_0 directory=$directory/0
wait_for 30 "start" runs_with "$job" 8
guest=$(rigid 8 300 -N2)
wait_for 60 "run with 4" runs_with "$job" 4
timeout 10 scancel "$guest"
for task in 0 1; do wait_for 60 "end of task $task" is_state "${array}_$task" COMPLETED; done
of_array() { sed -n "s/^Slurm Array Summary Job_id=${array}_.* \(Began\|Requeued\|Ended\).*/\1/p" "$work/mails" | sort | xargs; }
three_mails() { [ "$(of_array)" = "Began Ended Requeued" ]; }
wait_for 10 "three mails: $(of_array)" three_mails

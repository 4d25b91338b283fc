# SPDX-License-Identifier: BSD-3-Clause
# A training leaves all of its GPUs to a job that needs the whole cluster, twice, and continues each time when that
# ends. No step is lost or done twice. It waits with its own nice value and mail types.
. "$here/pause.sh"
user=nobody
ringstat=$(dirname "$plugins")/ringstat
explained() { "$ringstat" explain "$job" | grep -q '^job .* paused'; }
start_training resumes --nice=70 --mail-type=ALL -- 100000 100
mails=$(field "$job" MailType)
[ -n "$mails" ] || fail "no MailType"
for round in 1 2; do
    pause_for 8
    has_field "$job" Nice 70 || fail "paused with nice $(field "$job" Nice)"
    has_field "$job" MailType "$mails" || fail "paused with mails $(field "$job" MailType), submitted with $mails"
    [ "$(gpus_of "$job")" = 4 ] || fail "paused with $(gpus_of "$job") GPUs: Slurm could not start it with its MIN"
    is_ahead "$job" $((lease_s / 2 - 60)) $lease_s || fail "its start time is $(seconds_ahead "$job") s ahead"
    [ ! -x "$ringstat" ] || wait_for 10 "explanation" explained
    has_starts $round || fail "it started $(starts) times before pause $round ended"
    wait_for 60 "end of the short job" is_state "$short" COMPLETED
    resumes "after pause $round"
    has_field "$job" Nice 70 || fail "it runs with nice $(field "$job" Nice)"
done
has_starts 3 || fail "it started $(starts) times for two pauses"
[ "$(count_events "$job" paused)" = 2 ] || fail "$(count_events "$job" paused) events for two pauses"
[ "$(count_events "$job" resumed)" = 2 ] || fail "$(count_events "$job" resumed) events for two ends of a pause"
check_steps
clear_jobs

# A job that did not ask for it is not paused. It shrinks to its MIN at most.
start_job keeps --malleable=4:16 -- 100000 100
wait_for 40 "start with 16 GPUs" runs_with "$job" 16
submit_short 5
sleep 8
is_state "$job" RUNNING && is_state "$short" PENDING || fail "a job without --malleable-pause was paused"
check_steps

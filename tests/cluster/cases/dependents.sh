# SPDX-License-Identifier: BSD-3-Clause
# A resize triggers neither afternotok nor afterany, and never shows as FAILED.
user=nobody
start_job parent --malleable=1:16 -- 60 100
notok=$(as_user sbatch --parsable -o /dev/null -d "afternotok:$job" --wrap "touch $directory/notok")
any=$(as_user sbatch --parsable -o /dev/null -d "afterany:$job" --wrap "touch $directory/any")
wait_for 30 "start" runs_with "$job" 16
guest=$(rigid 8 300 -N2)
states=
while ! is_state "$job" "COMPLETED FAILED CANCELLED"; do
    states+=" $(state_of "$job")"
    [ -e "$directory/any" ] && ! is_state "$job" COMPLETED && fail "afterany fired during the resize"
    sleep 0.1
done
has_event "$job" resized || fail "the job was not resized"
[[ $states == *FAILED* ]] && fail "shown as FAILED: $states"
wait_for 30 "start of the afterany dependent" test -e "$directory/any"
[ -e "$directory/notok" ] && fail "afternotok fired"
check_steps

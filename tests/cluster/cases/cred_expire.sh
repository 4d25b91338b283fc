# SPDX-License-Identifier: BSD-3-Clause
# A site with longer credentials (cred_expire of AuthInfo). Slurm's requeue then sets a later start time,
# which must not count as the user's own. The job restarts as soon as elsewhere.
pair=$("$cluster" start --plugin-dir "$plugins" --malleable --host "$host" --nodes 2 --yaml "$dir/malleable.yaml") ||
    fail "no second cluster"
ended() { "$cluster" stop "$pair"; exit "$1"; }
trap 'ended $?' EXIT
sed -i 's/^AuthInfo=.*/&,cred_expire=300/' "$pair/slurm.conf"
for name in n1 n2 slurmctld; do "$cluster" daemon "$pair" term $name; "$cluster" daemon "$pair" start $name; done
dir=$pair
. "$dir/env"
both_idle() { [ "$(timeout 5 sinfo -h -N -t idle -o %N | wc -l)" = 2 ]; }
wait_for 30 "idle nodes" both_idle

blocker=$(rigid 4 300 -N1)
wait_for 20 "start of the rigid job" is_state "$blocker" RUNNING
start_job cred_expire --malleable=1:8 -- 100000 100
wait_for 30 "start with 4 GPUs" runs_with "$job" 4
wait_for 20 "ten steps" has_steps 10
scancel "$blocker"
wait_for 60 "growth to 8 GPUs" runs_with "$job" 8
note "measured: $(gap_of "$job") s from signal to running again"
check_steps

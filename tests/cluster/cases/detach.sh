# SPDX-License-Identifier: BSD-3-Clause
# ringstat detach hands every job back, during resizes and across a kill of slurmctld. Then the plugins are
# removed, and all jobs run to their end with their steps in order.
# seconds: 400
ringstat=$(dirname "$plugins")/ringstat
[ -x "$ringstat" ] || { echo "# skipped: ringstat is not built"; exit 77; }
field() { timeout 10 scontrol -o show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"; }
has_record() { timeout 10 scontrol -o show job "$1" | grep -q 'malleable/1'; }
cp "$dir/slurm.conf" "$work/slurm.conf.before"
cp "$dir/plugstack.conf" "$work/plugstack.before"
put_back() {
    cp "$work/slurm.conf.before" "$dir/slurm.conf"
    cp "$work/plugstack.before" "$dir/plugstack.conf"
    cp "$work/malleable.yaml" "$dir/malleable.yaml"
    timeout 10 scancel --user=root
    "$cluster" daemon "$dir" term slurmctld
    start_slurmctld
}
trap put_back EXIT

# ---- jobs in every state: one that leaves when it is asked, one that never does, a new one, a held one
start_job leaves --malleable=1:8 --comment=mine -- 400 100
leaves=$job
wait_for 40 "start" runs_with "$leaves" 8
start_job stubborn --malleable=1:8 --malleable-grace=0:12 --nice=50 -- 500 100 ignore
stubborn=$job
wait_for 40 "start" runs_with "$stubborn" 8
timeout 10 scontrol update jobid="$stubborn" AdminComment="site: keep this" || fail "no AdminComment"
has_record "$stubborn" || fail "the record is gone already"
start_job held --malleable=2:8 --gpus=4 --hold -- 50 100
held=$job
sleep 6 # Slurm has saved them
start_job fresh --malleable=2:8 --gpus=4 -- 50 100
fresh=$job
wait_for 30 "question" has_event "$stubborn" asked

# ---- who may detach
said=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$ringstat" detach 2>&1) && fail "anybody may"
grep -q 'only root or SlurmUser may do this' <<<"$said" && [ "$(wc -l <<<"$said")" = 1 ] || fail "said: $said"

# ---- detach, with slurmctld killed meanwhile
"$ringstat" detach --wait=120 >"$work/detach.said" 2>&1 &
pid=$!
sleep 1.5
kill_slurmctld
sleep 2
start_slurmctld
wait $pid || fail "detach ended with $?: $(tail -5 "$work/detach.said")"
note "$(head -3 "$work/detach.said" | tr '\n' '|')"
grep -q '^done: ' "$work/detach.said" || fail "said: $(tail -3 "$work/detach.said")"
sleep 6 # a record that slurmctld lost would reappear by now
grep -q '^mode: detach' "$dir/malleable.yaml" || fail "the mode is not in the file"
for job in $leaves $stubborn $held $fresh; do
    timeout 10 scontrol show job "$job" >/dev/null 2>&1 || continue # killed with slurmctld before it was saved
    has_record "$job" && fail "job $job has its record"
    [ "$job" = "$stubborn" ] || [ "$(field "$job" Nice)" = 0 ] || fail "job $job has nice $(field "$job" Nice)"
done
[ "$(field "$stubborn" Nice)" = 50 ] || fail "its own nice value is $(field "$stubborn" Nice)"
[ "$(field "$stubborn" AdminComment)" = site: ] || fail "the site's text is gone: $(timeout 10 scontrol show job "$stubborn" | grep AdminC)"
is_state "$held" PENDING && [ "$(gpus_of "$held")" = 4 ] || fail "the held job"
"$ringstat" detach --json | grep -q '"done": true' || fail "a second detach"
start_job late --malleable=1:8 --gpus=2 -- 20 100
late=$job
no_record() { ! has_record "$late"; }
wait_for 20 "hand-back of a job submitted meanwhile" no_record

# ---- the plugins are removed
sed -i 's/^SchedulerType=.*/SchedulerType=sched\/backfill/; /^JobSubmitPlugins/d; /^PlugStackConfig/d' "$dir/slurm.conf"
: >"$dir/plugstack.conf"
asked=$(count_events '[0-9]*' asked)
"$cluster" daemon "$dir" term slurmctld
start_slurmctld
timeout 10 scontrol release "$held"
for name in leaves stubborn held late; do
    directory=$work/$name job=${!name}
    wait_for 150 "end of $name" is_state "$job" COMPLETED
    [ -e "$directory/done" ] || fail "$name has not done its steps"
    check_steps
done
[ "$(count_events '[0-9]*' asked)" = "$asked" ] || fail "a job was asked"
grep -q 'ranks=4 ' "$work/held/log" || fail "the held job: $(head -1 "$work/held/log")"
grep -q 'ranks=2 ' "$work/late/log" || fail "the late job: $(head -1 "$work/late/log")"

# SPDX-License-Identifier: BSD-3-Clause
# With a setup that it must not run with, ringrtd ends with status 2 and one clear line. It waits for a
# slurmctld that does not answer.
only_with daemon "these are ringrtd's own words"
ringrtd=$(cat "$dir/run/ringrtd.program")
refuses() { # TEXT COMMAND...
    local expected=$1 said status
    shift
    said=$(timeout 30 "$@" 2>&1)
    status=$?
    [ $status = 2 ] && grep -q "$expected" <<<"$said" || fail "expected \"$expected\", status 2; got $status: $said"
}
refuses 'unknown option --bogus' "$ringrtd" --bogus
refuses 'needs a value' "$ringrtd" --config
refuses 'unexpected argument "x"' "$ringrtd" x
refuses 'expected an absolute path, got "x"' "$ringrtd" --log-file x
refuses 'expected a loopback address' "$ringrtd" --metrics 0.0.0.0:9820
printf 'mode: sometimes\n' >"$work/bad.yaml"
refuses 'bad.yaml:1: mode: expected one of' "$ringrtd" --check --config "$work/bad.yaml"
"$ringrtd" --check | grep -q 'mode act, policy doubling' || fail "--check"
[ "$("$ringrtd" -V)" = "$("$ringrtd" --version)" ] || fail "--version"
install -m 755 "$ringrtd" "$work/ringrtd"
refuses 'must run as SlurmUser root (uid 0), runs as uid' \
    setpriv --reuid nobody --regid nogroup --clear-groups env SLURM_CONF="$SLURM_CONF" "$work/ringrtd" --facts "$work/none"

# A cluster whose slurmctld already runs the controller.
"$cluster" start --dir "$work/plugin" --plugin-dir "$plugins" --malleable --nodes 1 >/dev/null || fail "no cluster"
refuses 'SchedulerType=sched/doubling' env SLURM_CONF="$work/plugin/slurm.conf" "$ringrtd" --facts "$work/none"
"$cluster" daemon "$work/plugin" term slurmctld
SLURM_CONF=$work/plugin/slurm.conf "$ringrtd" --facts "$work/none" >"$work/refuses.log" 2>&1 &
waits=$!
wait_for 40 "word of the silence" grep -q 'slurmctld does not answer' "$work/refuses.log"
kill -TERM $waits
wait $waits || fail "it did not end as asked"
"$cluster" stop "$work/plugin"

# ringrtd's facts make a new job wait for the decision. Without them the job starts as Slurm starts it.
start_job held --malleable=1:8 --hold -- 1000 100
scontrol -o show job "$job" | grep -q "StartTime=Unknown" || true
"$cluster" daemon "$dir" term ringrtd
mv "$dir/run/facts" "$work/facts"
start_job alone --malleable=2:8 --gpus=2 -- 100000 100
wait_for 10 "start without ringrtd" runs_with "$job" 2
submitted=$(timeout 20 sbatch --parsable --malleable=1:64 --hold --wrap true) || fail "refused without facts"
"$cluster" daemon "$dir" start ringrtd
wait_for 20 "facts" test -e "$dir/run/facts"
wait_for 40 "growth" runs_with "$job" 8
timeout 20 sbatch --malleable=1:64 --hold --wrap true 2>&1 | grep -q 'expected at most the 16 GPUs' ||
    fail "the view of the partition is not used"
# An administrator's AdminComment leaves the job's record unchanged.
timeout 10 scontrol update jobid="$submitted" admincomment="site text" || fail "scontrol update"
scontrol -o show job "$submitted" | grep -q 'AdminComment=site text malleable/1 ' || fail "the record is lost"

# SPDX-License-Identifier: BSD-3-Clause
#
# alone: it compares times of start on two clusters
# The same rigid workload with the controller and with Slurm's own sched/backfill. No job starts later after
# submission than on stock Slurm (I10), within clock resolution and the 3 s by which stock Slurm itself is
# late on a busy machine.
workload() { # DIRECTORY OPTIONS...: prints "index start_s wait_s" of each job, by order of start
    local out=$1 i first
    shift
    "$cluster" start --dir "$out" --plugin-dir "$plugins" "$@" >/dev/null || fail "no cluster"
    (
        # shellcheck disable=SC1091
        . "$out/env"
        # 16 GPUs: two jobs fill them, one waits for all of them, and small short jobs fit in before it.
        for job in 8:4 8:8 16:3 4:2 2:2 4:9 1:1 8:3; do
            timeout 20 sbatch -o /dev/null -t 1 --gpus="${job%:*}" --wrap "sleep ${job#*:}" >/dev/null
        done
        for _ in $(seq 500); do [ -z "$(squeue -h)" ] && break; sleep 0.2; done
        first=$(date -d "$(scontrol -o show job 1 | sed -n 's/.* SubmitTime=\([^ ]*\) .*/\1/p')" +%s)
        for i in 1 2 3 4 5 6 7 8; do
            started=$(scontrol -o show job $i | sed -n 's/.* StartTime=\([^ ]*\) .*/\1/p')
            echo "$i $(($(date -d "$started" +%s) - first))"
        done
    )
    "$cluster" stop "$out"
}
workload "$work/stock" --no-malleable >"$work/stock.starts" &
workload "$work/ours" --malleable --host "$host" >"$work/ours.starts"
wait
[ "$(wc -l <"$work/stock.starts")" = 8 ] && [ "$(wc -l <"$work/ours.starts")" = 8 ] || fail "not all jobs ran"
paste "$work/stock.starts" "$work/ours.starts" | sed 's/^/# job start_s: stock, ours: /'
worst=$(paste "$work/stock.starts" "$work/ours.starts" |
    awk '{ late = $4 - $2; if (late > worst) worst = late } END { print worst + 0 }')
note "measured: rigid jobs start at most $worst s later than on stock Slurm"
[ "$worst" -le 4 ] || fail "rigid jobs start later than on stock Slurm"

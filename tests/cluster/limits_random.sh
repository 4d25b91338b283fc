# SPDX-License-Identifier: BSD-3-Clause
# Random submissions, cancels, requeues and updates by four users, under limits of a QOS, of its users, of an
# account, of its parent account and of a partition's QOS. The running jobs never exceed a limit.
# RINGRT_ACTIONS: how many (1000, half an hour); RINGRT_SEED: the seed. Run by `make check-limits`.
# seconds: 5400
. "$here/site.sh"
site_up
actions=${RINGRT_ACTIONS:-1000}
seed=${RINGRT_SEED:-$RANDOM}
note "seed $seed, $actions actions"
limit qos team set GrpTRES=cpu=6,gres/gpu=5
limit qos small set MaxTRESPerUser=cpu=4,gres/gpu=3
limit account chem set GrpTRES=cpu=7,gres/gpu=6
sacctmgr -i add account science >>"$work/sacctmgr" && limit account physics set parent=science && limit account chem set parent=science
limit account science set GrpTRES=cpu=8,gres/gpu=8
sacctmgr -i add qos largest >>"$work/sacctmgr" && limit qos largest set GrpTRES=cpu=7,gres/gpu=7
wait_for 10 "QOS of the partition" scontrol update partitionname=large qos=largest

# A subshell has its own random sequence, so numbers are drawn outside it.
one_of() { # NUMBER WORD...
    local list=("${@:2}")
    echo "${list[$1 % ($# - 1)]}"
}
some_job() { timeout 10 squeue -h -o '%i' | shuf -n 1 --random-source=<(yes "$1"); } # NUMBER
act() { # NUMBER
    local id user
    RANDOM=$((seed + $1))
    user=$(one_of $RANDOM alice bob carol dave)
    case $((RANDOM % 10)) in
    [0-2]) user_job "$user" "m$1" -q "$(one_of $RANDOM normal team small)" --malleable="$(one_of $RANDOM 1:2 1:4 1:8 2:8 2:4 4:4)" \
        -p "$(one_of $RANDOM main main large)" -c "$(one_of $RANDOM 1 1 2)" -- "$((RANDOM % 400 + 100))" 100 ;;
    [3-4]) user_rigid "$user" $((RANDOM % 15 + 5)) -q "$(one_of $RANDOM normal team small)" -p "$(one_of $RANDOM main large)" \
        --gpus="$(one_of $RANDOM 1 2 3 4)" >/dev/null ;;
    [5-6]) id=$(some_job $RANDOM) && [ -n "$id" ] && timeout 10 scancel "$id" ;;
    7) id=$(some_job $RANDOM) && [ -n "$id" ] && timeout 10 scontrol requeue "$id" 2>/dev/null ;;
    8) id=$(some_job $RANDOM) && [ -n "$id" ] && as "$user" scontrol update jobid="$id" numtasks=$((RANDOM % 8 + 1)) 2>/dev/null ;;
    9) sleep 3 ;; # a pause in which jobs grow
    esac
}

# Prints one line for each limit that is exceeded now.
over() {
    timeout 10 scontrol -o show job | awk '
        / JobState=RUNNING / {
            cpus = gpus = 0; user = account = qos = partition = ""
            for (i = 1; i <= NF; i++) {
                if ($i ~ /^UserId=/) user = $i
                if ($i ~ /^Account=/) account = substr($i, 9)
                if ($i ~ /^QOS=/) qos = substr($i, 5)
                if ($i ~ /^Partition=/) partition = substr($i, 11)
                if ($i ~ /^(Alloc)?TRES=/) {
                    n = split($i, item, /[=,]/)
                    for (k = 2; k < n; k++) { if (item[k] == "cpu") cpus = item[k + 1]; if (item[k] == "gres/gpu") gpus = item[k + 1] }
                }
            }
            # By Slurm's rule a partition's QOS replaces that of the job, and a QOS with a GrpTRES replaces
            # the account and its parents.
            key = partition == "large" ? "large 7 7" : qos == "team" ? "team 6 5" : "science 8 8"
            c[key] += cpus; g[key] += gpus
            if (key ~ /^science/ && account == "chem") { c["chem 7 6"] += cpus; g["chem 7 6"] += gpus }
            if (qos == "small") { c["small,a_user," user " 4 3"] += cpus; g["small,a_user," user " 4 3"] += gpus }
        }
        END { for (key in c) { split(key, most, " "); if (c[key] > most[2] || g[key] > most[3]) print key ": " c[key] " CPUs, " g[key] " GPUs" } }'
}
looks=0
for ((i = 1; i <= actions; i++)); do
    (act "$i") >>"$work/acts" 2>&1
    for _ in 1 2 3; do
        violation=$(over)
        looks=$((looks + 1))
        [ -z "$violation" ] || { squeue -t R -o '# %i %j %u %a %q cpus=%C %N'; fail "after action $i: $violation"; }
        sleep 0.2
    done
done
resized=$(grep -c '"event":"resized"' "$dir/log/malleable_events.jsonl")
note "measured: seed $seed, $actions actions, $looks looks, $resized resizes, $(sacct -n -X -a -S now-1day | wc -l) jobs, no limit exceeded"

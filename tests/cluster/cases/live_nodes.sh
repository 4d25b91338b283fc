# SPDX-License-Identifier: BSD-3-Clause
# A base on two nodes gives one up while it trains (doc/live.md). The case does by hand what the controller does from
# Slurm 24.11 on: the order in the record, the signal, and then the update of the node list. The other tasks of the
# same step live on, a rigid job gets the node, and each step is done once and in order.
. "$here/live.sh"
user=nobody directory=$work/live_nodes steps=500
own_directory
cd "$directory" || fail "no directory"
base=$(as_user sbatch --parsable -J train --malleable=4:8 --gpus=8 -o "$directory/base" --wrap "RINGRT_LIVE_RESIZE=1 srun -n \$SLURM_NTASKS $live $steps 200") ||
    fail "sbatch refused the base"
wait_for 40 "eight ranks" base_has 8
set_yaml "$(sed 's/^mode: .*/mode: observe/' "$dir/malleable.yaml")"
tells() { timeout 5 scontrol -o show job "$base" | grep -q "ringrt/1 .*gpus=$1 .* nodes=[0-9]"; }
wait_for 20 "a report with the nodes" tells 8
told=$(timeout 5 scontrol show job "$base" | sed -n 's/^ *AdminComment=\(.*[^ ]\) *$/\1/p')
as_root() { (user='' && as_user "$@"); }
as_root scontrol update jobid="$base" admincomment="$told keep=4" || fail "no order"
as_root scancel -s 28 "$base" || fail "no signal" # SIGWINCH
wait_for 10 "four ranks" base_has 4
wait_for 10 "a report of four ranks" tells 4
first=$(timeout 5 scontrol show hostnames "$(timeout 5 squeue -h -j "$base" -o %N)" | head -n 1)
as_user scontrol update jobid="$base" nodelist="$first" || fail "the owner may not give up a node"
rigid=$(rigid 12 2 --nodes=3 --gpus-per-node=4)
wait_for 20 "three whole nodes for the rigid job" is_state "$rigid" "RUNNING COMPLETED"
[ "$(timeout 5 squeue -h -j "$base" -o %D)" = 1 ] || fail "the base still has two nodes"
timeout 5 scontrol -o show job "$base" | grep -o ' TRES=[^ ]*' | sed 's/^/#/'
wait_for 90 "end of the base" is_state "$base" COMPLETED
check_each_step_once $steps $steps
check_weights $steps

# A step that Slurm would end some time after its first task keeps its nodes: the base names none in its report.
clear_jobs
set_yaml "$(sed 's/^mode: .*/mode: act/' "$dir/malleable.yaml")"
waiting() { # OPTION OF srun, VARIABLE
    local name
    name=wait$(tr -dc 0-9 <<<"$1 $2")
    directory=$work/live_$name
    own_directory
    cd "$directory" || fail "no directory"
    base=$(as_user sbatch --parsable -J "$name" --malleable=4:8 --gpus=8 -o "$directory/base" \
        --wrap "export RINGRT_LIVE_RESIZE=1 $2; srun $1 -n \$SLURM_NTASKS $live $steps 200") || fail "sbatch refused the base"
    wait_for 40 "eight ranks" base_has 8
    report() { timeout 5 scontrol -o show job "$base" | grep -q "ringrt/1 .*gpus=8 "; }
    wait_for 20 "a report" report
    [ "$name" = wait062 ] || sleep 8 # its first reports come before all ranks have voted
}
waiting --wait=60 ''
tells 8 && fail "with srun --wait it offers its nodes"
clear_jobs
waiting '' SLURM_WAIT=61
tells 8 && fail "with SLURM_WAIT it offers its nodes"
clear_jobs
waiting --wait=0 SLURM_WAIT=62
wait_for 20 "a report with the nodes" tells 8
clear_jobs

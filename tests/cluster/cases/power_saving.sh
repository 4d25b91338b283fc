# SPDX-License-Identifier: BSD-3-Clause
# A site that powers idle nodes down (SuspendProgram, ResumeProgram). Nodes are powered up for a job's MIN and for
# rigid jobs, also for one that needs borrowed GPUs as well. No malleable job grows onto a node that is powered down.
cat >"$work/power" <<END
#!/bin/bash
# usage: power down|up NODES: ends or starts their slurmd, as a machine that takes a while to boot
export SLURM_CONF=$work/cluster/slurm.conf PATH=$PATH
cd $work/cluster || exit
for node in \$(scontrol show hostnames "\$2"); do
    echo "\$1 \$node" >>$work/powered
    if [ "\$1" = down ]; then $cluster daemon $work/cluster kill "\$node"; continue; fi
    (
        sleep 2
        RINGRT_DAEMON=$work/cluster exec setsid slurmd -D -b -N "\$node" -f \$SLURM_CONF </dev/null >>log/\$node.out 2>&1
    ) &
    echo \$! >run/\$node
done
END
for way in down up; do printf '#!/bin/bash\nexec %s/power %s "$1"\n' "$work" $way >"$work/power_$way"; done
chmod 755 "$work"/power*
cp "$dir/malleable.yaml" "$work/malleable.yaml"
dir=$("$cluster" start --dir "$work/cluster" --plugin-dir "$plugins" --malleable --host "$host" --yaml "$work/malleable.yaml" \
    --conf "SuspendProgram=$work/power_down" --conf "ResumeProgram=$work/power_up" --conf SuspendTimeout=2 --conf ResumeTimeout=25 \
    --conf SuspendTime=3600) || fail "no second cluster"
trap 'ended=$?; "$cluster" stop "$dir"; exit "$ended"' EXIT
. "$dir/env"
controller_log=$dir/log/slurmctld.log
[ "$host" = plugin ] || controller_log=$dir/log/ringrtd.log
wait_for 20 "controller" logged 'mode act'
node_is() { [[ $(timeout 10 scontrol -o show node "$1" | sed -n 's/.* State=\([^ ]*\).*/\1/p') == *$2* ]]; } # NODE STATE
woken() { [ "$(grep -c up "$work/powered")" = "$1" ] || fail "$2 powered up: $(tr '\n' ' ' <"$work/powered")"; } # NODES WHAT
starts() { is_state "$1" "CONFIGURING RUNNING"; }

timeout 10 scontrol update nodename=n[1-4] state=power_down || fail "the nodes cannot be powered down"
for node in n1 n2 n3 n4; do wait_for 20 "$node powered down" node_is $node POWERED_DOWN; done
start_job saving --malleable=1:16 -- 100000 100
wait_for 30 "start on a node that is powered up for it" starts "$job"
wait_for 60 "growth on this node" runs_with "$job" 4
wait_for 20 "ten steps" has_steps 10
sleep 5
runs_with "$job" 4 || fail "it has $(gpus_of "$job") GPUs"
woken 1 "for its MIN, not for its growth,"

# Three GPUs on each node: those of the job's node are borrowed.
guest=$(rigid 12 300 -N4 --gpus-per-node=3)
wait_for 60 "start of a rigid job on nodes that are powered down and one on which GPUs are returned" starts "$guest"
wait_for 40 "run with its MIN" runs_with "$job" 1
all_boot() { [ "$(grep -c up "$work/powered")" = 4 ]; }
wait_for 20 "boot of the three other nodes" all_boot
timeout 10 scancel "$guest"
wait_for 90 "growth onto all nodes, which are up now" runs_with "$job" 16
check_steps

# SPDX-License-Identifier: BSD-3-Clause
# A site that powers idle nodes down (SuspendProgram, ResumeProgram), for the cases power_*. Sourced after lib.sh.
# A node boots for two seconds, or never if the file $work/broken names it.
# shellcheck shell=bash disable=SC2034,SC2154

cat >"$work/power" <<END
#!/bin/bash
# usage: power down|up NODES: ends or starts their slurmd, as a machine that takes a while to boot
export SLURM_CONF=$work/cluster/slurm.conf PATH=$PATH
cd $work/cluster || exit
for node in \$(scontrol show hostnames "\$2"); do
    echo "\$1 \$node" >>$work/powered
    if [ "\$1" = down ]; then $cluster daemon $work/cluster kill "\$node"; continue; fi
    ! grep -qsx "\$node" $work/broken || continue
    # slurmctld kills what is left in this program's process group when it ends. So it waits until the node has a
    # session of its own.
    rm -f run/\$node
    RINGRT_DAEMON=$work/cluster setsid bash -c "echo \\\$\\\$ >run/\$node; sleep 2; exec slurmd -D -b -N \$node -f \$SLURM_CONF" </dev/null >>log/\$node.out 2>&1 &
    until [ -s run/\$node ]; do sleep 0.05; done
done
END
for way in down up; do printf '#!/bin/bash\nexec %s/power %s "$1"\n' "$work" $way >"$work/power_$way"; done
chmod 755 "$work"/power*
rm -f "$work/powered" "$work/broken" # of an earlier case on this cluster

power_site_up() { # OPTIONS... of contrib/cluster
    second_cluster --dir "$work/cluster" \
        --conf "SuspendProgram=$work/power_down" --conf "ResumeProgram=$work/power_up" --conf SuspendTimeout=2 --conf ResumeTimeout=25 \
        --conf SuspendTime=3600 "$@"
}
node_is() { [[ $(timeout 10 scontrol -o show node "$1" | sed -n 's/.* State=\([^ ]*\).*/\1/p') == *$2* ]]; } # NODE STATE
times_woken() { grep -c "^up" "$work/powered"; }
woken() { [ "$(times_woken)" = "$1" ] || fail "$2 powered up: $(tr '\n' ' ' <"$work/powered")"; } # NODES WHAT
power_down() { # NODES...
    local node
    for node; do
        timeout 10 scontrol update nodename="$node" state=power_down || fail "$node cannot be powered down"
    done
    for node; do wait_for 20 "$node powered down" node_is "$node" POWERED_DOWN; done
}
is_started() { is_state "$1" "CONFIGURING RUNNING"; }

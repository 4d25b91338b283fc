# SPDX-License-Identifier: BSD-3-Clause
# The cluster's directory and its configuration files. Sourced by contrib/cluster.
# shellcheck shell=bash disable=SC2154

free_port_range() { # COUNT: the first port of a range on which no socket listens
    local base offset used
    used=" $(awk 'FNR > 1 { split($2, a, ":"); print a[2] }' /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        while read -r hex; do echo $((16#$hex)); done | tr '\n' ' ')"
    for ((base = 20000 + (RANDOM % 100) * 100; base < 32000; base += 100)); do
        for ((offset = 0; offset <= $1; offset++)); do
            [[ $used == *" $((base + offset)) "* ]] && continue 2
        done
        echo "$base" && return
    done
    die "found no free ports between 20000 and 32000; give --port"
}

make_directory() {
    local node
    if [ -z "$dir" ]; then dir=$(mktemp -d /tmp/ringrt-cluster.XXXXXX) || exit; fi
    [ ${#dir} -le 60 ] || die "--dir: at most 60 characters (sockets live inside), got ${#dir}: $dir"
    if [ -e "$dir/slurm.conf" ]; then
        daemon_alive slurmctld && die "a cluster runs in $dir already; stop it: contrib/cluster stop $dir"
        stop_cluster "$dir"
    elif [ -n "$(ls -A "$dir" 2>/dev/null)" ]; then
        die "--dir: $dir exists and is no cluster's directory"
    fi
    ours=1
    mkdir -p "$dir"/{dev,log,munge,run,state} || die "cannot make $dir"
    chmod 755 "$dir" && chown munge "$dir/munge" && chmod 755 "$dir/munge"
    for ((node = 1; node <= nodes; node++)); do
        mkdir -p "$dir/spool/n$node" "$dir/tmp/n$node"
    done
    chmod 1777 "$dir"/tmp/*
    [ "$backup" = 0 ] || make_hosts
    [ "$site" = 0 ] || make_site
    make_gpu_files
}

# Two hosts on one machine: each has its name, the backup has its own logs, and both share the
# state.
make_hosts() {
    unshare --uts --mount sh -c 'hostname first && mount --bind /dev/null /etc/hosts' 2>/dev/null ||
        skip "--backup needs name spaces with host names of their own"
    mkdir -p "$dir"/backup/{log,run}
    # This machine's own names too: its jobs ask for answers at them.
    { printf '127.0.0.1 localhost first\n127.0.0.2 second\n' && cat /etc/hosts; } >"$dir/hosts"
}

# Slurm accepts any character device; if mknod is not allowed, a plain file also works.
make_gpu_files() {
    local gpu most=0 index types
    for ((index = 1; index <= nodes; index++)); do
        types=$(gpus_of_node $index)
        gpu=$(($(sed 's/[^+]*://g' <<<"$types"))) # the sum over the types
        most=$((gpu > most ? gpu : most))
    done
    for ((gpu = 0; gpu < most; gpu++)); do
        mknod -m 666 "$dir/dev/gpu$gpu" c 1 3 2>/dev/null || touch "$dir/dev/gpu$gpu"
    done
}

write_conf() {
    local scheduler=sched/backfill hosts='SlurmctldHost=localhost(127.0.0.1)'
    [ "$backup" = 0 ] || hosts='SlurmctldHost=first(127.0.0.1)
SlurmctldHost=second(127.0.0.2)
CommunicationParameters=NoCtldInAddrAny'
    if [ "$malleable" = auto ]; then
        find_plugin sched_doubling.so >/dev/null && malleable=yes || malleable=no
    fi
    [ "$malleable" = no ] || [ "$host" = daemon ] || scheduler=sched/doubling
    [ "$malleable" = no ] || [ "$host" = plugin ] || find_ringrtd >"$dir/run/ringrtd.program" || exit
    {
        cat <<END
ClusterName=ringrt
$hosts
SlurmUser=$([ "$site" = 1 ] && echo slurm || echo root)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pidfile
SlurmdPidFile=$dir/run/%n.pidfile
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/%n.log
SlurmctldDebug=verbose
SlurmdDebug=verbose
TmpFS=$dir/tmp/%n
PluginDir=$plugin_dirs
TaskPlugin=task/none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldTimeout=10
SlurmdTimeout=15
KillWait=5
MinJobAge=300
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=$scheduler
SchedulerParameters=${sched}batch_sched_delay=1,sched_interval=10,bf_interval=5
END
        [ "$malleable" = no ] || echo "PlugStackConfig=$dir/plugstack.conf"
        # Slurm 22.05 does not have this plugin, and needs none without the line.
        [[ $(slurmctld -V) =~ \ 2[0-2]\. ]] || echo "CgroupPlugin=disabled" >"$dir/cgroup.conf"
        write_proctrack
        if [ "$site" = 1 ]; then write_site_conf; else write_bare_conf; fi
        printf '%s' "$conf"
    } >"$dir/slurm.conf"
    if [ "$malleable" = yes ]; then
        echo "optional $(find_plugin malleable.so || echo malleable.so)" >"$dir/plugstack.conf"
        if [ -n "$yaml" ]; then cp "$yaml" "$dir/malleable.yaml"; else echo 'mode: act' >"$dir/malleable.yaml"; fi
    fi
    echo "$nodes" >"$dir/run/nodes"
    local file
    for file in "${files[@]}"; do sed "s|@DIR@|$dir|g" "$file" >"$dir/$(basename "$file")" || exit; done
    write_env
}

# Whether Slurm can track a job's processes with this kernel's cgroups (version 1, freezer).
has_cgroups() {
    local probe=/sys/fs/cgroup/freezer/ringrt-probe.$$
    [ -e "$(slurm_plugin_dir)/cgroup_v1.so" ] && mkdir "$probe" 2>/dev/null && rmdir "$probe"
}

# Nodes of the same name on one machine share a cgroup, so job ids must differ between clusters.
write_proctrack() {
    [ "$cgroup" = 1 ] || { echo "ProctrackType=proctrack/linuxproc"; return; }
    echo "ProctrackType=proctrack/cgroup"
    echo "FirstJobId=$((port * 1000))"
    printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n' >"$dir/cgroup.conf"
}

write_bare_conf() {
    [ "$malleable" = no ] || echo "JobSubmitPlugins=malleable"
    write_nodes
    [[ $conf == *PartitionName=main* ]] || echo "PartitionName=main Nodes=ALL Default=YES DefaultTime=1:00:00 MaxTime=7-0 State=UP"
}

# One line for a node, because the nodes' GPUs may differ.
write_nodes() {
    local index node_gpus list types=gpu type count first
    for type in ${gres//,/ }; do types+=,${type%%:*}; done
    [ "$gpus$gres" = 0 ] || echo "GresTypes=$types"
    for ((index = 1; index <= nodes; index++)); do
        node_gpus=$(gpus_of_node $index) list='' first=0
        for type in ${node_gpus//+/ }; do
            count=${type##*:} type=${type%"$count"} type=${type%:}
            [ "$count" != 0 ] || continue
            list+=,gpu:${type:+$type:}$count
            echo "NodeName=n$index Name=gpu ${type:+Type=$type }File=$dir/dev/gpu[$first-$((first + count - 1))]" >>"$dir/gres.conf"
            first=$((first + count))
        done
        for type in ${gres//,/ }; do
            [ -n "$list" ] || continue # only nodes with GPUs share them
            list+=,$type
            echo "NodeName=n$index Name=${type%%:*} Count=${type##*:}" >>"$dir/gres.conf"
        done
        echo "NodeName=n$index NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + index)) CPUs=$cpus" \
            "RealMemory=$((cpus * 1024))${list:+ Gres=${list#,}}"
    done
}

gpus_of_node() { # INDEX: the last of the list is that of the nodes that follow
    local -a list
    IFS=, read -ra list <<<"$gpus"
    echo "${list[$1 - 1]:-${list[-1]}}"
}

write_env() {
    local tool path=
    # The tools of a build tree are in the directory above its .libs.
    tool=$(find_plugin ../ringstat) && path="export PATH=$(dirname "$(realpath "$tool")"):\$PATH"
    cat >"$dir/env" <<END
$path
export SLURM_CONF=$dir/slurm.conf RINGRT_CLUSTER_DIR=$dir
export OMPI_MCA_btl_tcp_if_include=lo OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
END
}

# SPDX-License-Identifier: BSD-3-Clause
# contrib/cluster --site: what a production cluster has and the bare one lacks: slurmdbd on MariaDB,
# a SlurmUser that is not root, ordinary users in accounts with limits, fairshare, QOS, two types of
# GPU on uneven nodes, overlapping partitions, preemption, licences, prolog and epilog, another
# job_submit plugin. Sourced by contrib/cluster.
# shellcheck shell=bash disable=SC2154

site_nodes=4
site_users='alice:20001:physics bob:20002:physics carol:20003:chem dave:20004:chem'

need_site() {
    local program
    for program in mariadbd slurmdbd sacctmgr; do
        command -v $program >/dev/null || skip "$program is missing; run: contrib/packages install site"
    done
    unshare --mount true 2>/dev/null || skip "--site needs mount name spaces, for users of its own"
}

make_site() {
    local user uid
    cat /etc/passwd >"$dir/passwd"
    cat /etc/group >"$dir/group"
    grep -q '^slurm:' "$dir/passwd" || {
        echo 'slurm:x:64030:64030::/nonexistent:/bin/sh' >>"$dir/passwd"
        echo 'slurm:x:64030:' >>"$dir/group"
    }
    for user in $site_users; do
        IFS=: read -r user uid _ <<<"$user"
        echo "$user:x:$uid:$uid::$dir/home/$user:/bin/bash" >>"$dir/passwd"
        echo "$user:x:$uid:" >>"$dir/group"
        mkdir -p "$dir/home/$user" && chown "$uid:$uid" "$dir/home/$user"
    done
    mkdir -p "$dir/db"
    # slurmdbd uses stored procedures, so it needs MariaDB's own table of them. It also needs its
    # own database: without it, its first connection fails, and with libmariadb 11.8.9 (Debian 13
    # and sid) a handle whose mysql_real_connect() has failed accepts answers of 0 columns from then
    # on.
    { printf 'create database if not exists acct;\ncreate database if not exists mysql;\nuse mysql;\n' &&
        grep -sh '^CREATE TABLE IF NOT EXISTS proc ' /usr/share/{mysql,mariadb}/*_system_tables.sql; } >"$dir/db.sql"
    grep -q '^CREATE' "$dir/db.sql" || skip "--site: MariaDB's system_tables.sql is neither in /usr/share/mysql nor in /usr/share/mariadb"
    in_site chown -R slurm "$dir"/{db,state,log,run}
    echo 0 >"$dir/prolog_seconds"
    printf '#!/bin/sh\nsleep "$(cat %s/prolog_seconds)"\n' "$dir" >"$dir/prolog"
    chmod 755 "$dir/prolog"
}

# The users exist only in the directory: nothing is added to this machine's users.
site_program() { # CMD...: sets $program
    # shellcheck disable=SC2016 # for the shell in there
    program=(unshare --mount sh -c 'mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/group" /etc/group || exit
        shift; exec "$@"' - "$dir" "$@")
}
slurm_program() { site_program setpriv --reuid slurm --regid slurm --init-groups "$@"; }
in_site() {
    local program
    site_program "$@"
    "${program[@]}"
}

as_user() { # NAME CMD...
    local name=$1 program
    shift
    in_site id -u "$name" >/dev/null 2>&1 || die "expected alice, bob, carol, dave or slurm, got \"$name\""
    site_program setpriv --reuid "$name" --regid "$name" --init-groups env "HOME=$dir/home/$name" "USER=$name" "$@"
    exec "${program[@]}"
}

site_daemon() { # NAME: adapts $program to the site
    case $1 in
    # No users and no network: only slurmdbd connects to it.
    mariadb) slurm_program mariadbd --no-defaults "--init-file=$dir/db.sql" "--datadir=$dir/db" "--socket=$dir/db/socket" --skip-networking \
        --skip-grant-tables "--pid-file=$dir/db/pid" --innodb-flush-log-at-trx-commit=0 --innodb-log-file-size=16M \
        --innodb-buffer-pool-size=64M --innodb-fast-shutdown=2 --loose-innodb-snapshot-isolation=OFF ;; # required by 26.05
    slurmdbd) slurm_program env "MYSQL_UNIX_PORT=$dir/db/socket" slurmdbd -D ;;
    munged) ;;
    slurmctld | ringrtd*) slurm_program "${program[@]}" ;;
    *) site_program "${program[@]}" ;;
    esac
}

write_slurmdbd_conf() {
    cat >"$dir/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
DbdHost=localhost
DbdPort=$((port + nodes + 1))
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=acct
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/run/slurmdbd.pidfile
END
    chmod 600 "$dir/slurmdbd.conf"
    in_site chown slurm "$dir/slurmdbd.conf"
}

write_site_conf() {
    local submit=''
    [ "$malleable" = no ] || submit=,malleable
    [ ! -e "$(slurm_plugin_dir)/job_submit_lua.so" ] || submit+=,lua
    [ -z "$submit" ] || echo "JobSubmitPlugins=${submit#,}"
    cat <<END
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=$((port + nodes + 1))
AccountingStoragePass=$dir/munge/socket
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu,gres/gpu:a100,gres/gpu:h100,license/solver
Licenses=solver:4
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityWeightFairshare=10000
PriorityWeightAge=1000
PriorityWeightQOS=20000
PreemptType=preempt/qos
PreemptMode=REQUEUE
Prolog=$dir/prolog
Epilog=$dir/prolog
GresTypes=gpu
NodeName=n[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=16 RealMemory=16384 Feature=a100 Gres=gpu:a100:4
NodeName=n3 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 3)) CPUs=8 RealMemory=8192 Feature=a100 Gres=gpu:a100:2
NodeName=n4 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 4)) CPUs=16 RealMemory=16384 Feature=h100 Gres=gpu:h100:4
PartitionName=main Nodes=n[1-3] Default=YES DefaultTime=1:00:00 MaxTime=7-0 TRESBillingWeights=GRES/gpu=10
PartitionName=large Nodes=n[1-4] DefaultTime=1:00:00 MaxTime=1-0 TRESBillingWeights=GRES/gpu=10
PartitionName=h100 Nodes=n4 DefaultTime=1:00:00 MaxTime=7-0 TRESBillingWeights=GRES/gpu=30
PartitionName=urgent Nodes=n[1-4] DefaultTime=1:00:00 MaxTime=1-0 PriorityTier=10 AllowQos=urgent TRESBillingWeights=GRES/gpu=10
END
    cat >"$dir/gres.conf" <<END
NodeName=n[1-2] Name=gpu Type=a100 File=$dir/dev/gpu[0-3]
NodeName=n3 Name=gpu Type=a100 File=$dir/dev/gpu[0-1]
NodeName=n4 Name=gpu Type=h100 File=$dir/dev/gpu[0-3]
END
    # A site rule: it sees the job as ringrt's plugin has changed it.
    cat >"$dir/job_submit.lua" <<'END'
function slurm_job_submit(job, parts, uid)
    if job.comment == "refused by the site" then
        slurm.log_user("job_submit.lua refuses this job")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, parts, uid) return slurm.SUCCESS end
return slurm.SUCCESS
END
    write_slurmdbd_conf
}

site_sacctmgr() { in_site env "SLURM_CONF=$dir/slurm.conf" sacctmgr "$@" >>"$dir/log/sacctmgr.out" 2>&1; }

start_accounting() {
    start_daemon mariadb
    wait_until "$wait_s" test -S "$dir/db/socket" || die "MariaDB did not start: $(tail -n 3 "$dir/log/mariadb.out")"
    start_daemon slurmdbd
    wait_until "$wait_s" site_sacctmgr -i add cluster ringrt || die "slurmdbd does not answer: $(tail -n 1 "$dir/log/sacctmgr.out")"
    site_sacctmgr -i add qos scavenger GraceTime=10 Priority=0
    site_sacctmgr -i add qos urgent Preempt=normal,scavenger Priority=1000
}

# After slurmctld's start, because it reports the limitable resources to slurmdbd. Tests set further
# limits themselves.
make_accounts() {
    local user account
    wait_until "$wait_s" in_site env "SLURM_CONF=$dir/slurm.conf" sh -c 'sacctmgr -n show tres | grep -q gpu:h100' ||
        die "slurmctld does not tell slurmdbd of its GPUs: $(tail -n 3 "$dir/log/slurmctld.log")"
    site_sacctmgr -i <<'END'
add qos team GrpTRES=gres/gpu=6
add qos small MaxTRESPerUser=gres/gpu=4 MaxJobsPerUser=2
add account physics Fairshare=10
add account chem Fairshare=10
END
    {
        for user in $site_users; do
            IFS=: read -r user _ account <<<"$user"
            echo add user "$user" account="$account" DefaultQOS=normal QOS=normal,scavenger,urgent,team,small
        done
    } | site_sacctmgr -i
    in_site env "SLURM_CONF=$dir/slurm.conf" sacctmgr -n show assoc format=user%20,qos%60 | grep 'dave.*small' >/dev/null ||
        die "sacctmgr could not make the accounts: $(grep -i -m 3 error "$dir/log/sacctmgr.out")"
}

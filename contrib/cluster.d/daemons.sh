# SPDX-License-Identifier: BSD-3-Clause
# The cluster's daemons: each has its process id in run/NAME. Sourced by contrib/cluster.
# shellcheck shell=bash disable=SC2154

# A pid counts only while the process is that daemon of this cluster, because pids are reused.
daemon_pid() {
    local pid
    pid=$(cat "$dir/run/$1" 2>/dev/null) && [ -n "$pid" ] &&
        grep -qzxF "RINGRT_DAEMON=$dir" "/proc/$pid/environ" 2>/dev/null && echo "$pid"
}
daemon_alive() { daemon_pid "$1" >/dev/null; }

as_host() { # NAME CMD...: CMD on that host. The backup's pid file is not the primary's.
    local host=$1
    shift
    # shellcheck disable=SC2016 # for the shell in there
    program=(unshare --uts --mount sh -c 'hostname "$1" && mount --bind "$2/hosts" /etc/hosts || exit
        [ "$1" = first ] || { mount --bind "$2/backup/log" "$2/log" && mount --bind "$2/backup/run" "$2/run"; } || exit
        shift 2; exec "$@"' - "$host" "$dir" "$@")
}

start_daemon() {
    local name=$1 program
    daemon_alive "$name" && return
    case $name in
    munged) program=(setpriv --reuid munge --regid munge --clear-groups munged --foreground --force --num-threads=2
        "--key-file=$dir/munge/key" "--socket=$dir/munge/socket" "--pid-file=$dir/munge/pid"
        "--log-file=$dir/munge/log" "--seed-file=$dir/munge/seed") ;;
    slurmctld) program=(slurmctld -D -f "$dir/slurm.conf")
        [ ! -d "$dir/backup" ] || as_host first "${program[@]}" ;;
    backup) [ -d "$dir/backup" ] || die "the cluster was started without --backup"
        as_host second slurmctld -D -f "$dir/slurm.conf" ;;
    ringrtd*) program=("$(cat "$dir/run/ringrtd.program")" --log-file "$dir/log/$name.log")
        [ ! -d "$dir/backup" ] || [ "$name" = ringrtd ] || as_host second "${program[@]}" ;;
    n[0-9]*) program=(slurmd -D -N "$name" -f "$dir/slurm.conf") ;;
    mariadb | slurmdbd) [ -d "$dir/db" ] || die "the cluster was started without --site" ;;
    *) die "expected slurmctld, backup, munged, ringrtd, mariadb, slurmdbd or a node's name, got \"$name\"" ;;
    esac
    [ ! -d "$dir/db" ] || site_daemon "$name"
    # Its own session, so that Ctrl-C at the terminal reaches only this script.
    (cd "$dir" && RINGRT_DAEMON=$dir SLURM_CONF=$dir/slurm.conf RINGRT_FACTS=$dir/run/facts exec setsid "${program[@]}") \
        </dev/null >>"$dir/log/$name.out" 2>&1 9>&- &
    echo $! >"$dir/run/$name"
    disown
}

end_daemon() { # NAME SIGNAL SECONDS: signal it, wait, then kill it
    local pid deadline
    pid=$(daemon_pid "$1") || return 0
    kill "-$2" "$pid" 2>/dev/null
    for ((deadline = $3 * 20; deadline > 0; deadline--)); do
        daemon_alive "$1" || { rm -f "$dir/run/$1"; return 0; }
        sleep 0.05
    done
    kill -KILL "$pid" 2>/dev/null
    rm -f "$dir/run/$1"
}

start_daemons() {
    local node
    (umask 077 && head -c 128 /dev/urandom >"$dir/munge/key") && chown munge "$dir/munge/key"
    start_daemon munged
    wait_until 10 test -S "$dir/munge/socket" || die "munged did not start: $(tail -n 3 "$dir"/munge/log "$dir/log/munged.out" 2>&1)"
    [ "$site" = 0 ] || start_accounting
    start_daemon slurmctld
    for ((node = 1; node <= nodes; node++)); do start_daemon "n$node"; done
    [ "$site" = 0 ] || make_accounts
    [ ! -e "$dir/run/ringrtd.program" ] || start_daemon ringrtd
}

wait_until() { # SECONDS CMD...
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt "$end" ] || return 1
        sleep 0.1
    done
}

daemon_names() { # COUNT_OF_NODES; not the backup, which is started last
    echo munged slurmctld
    [ ! -d "$dir/db" ] || echo mariadb slurmdbd
    [ ! -e "$dir/run/ringrtd.program" ] || echo ringrtd
    seq -f n%g "$1"
}

daemons_alive() {
    local name
    for name in $(daemon_names "$nodes"); do
        [ "$name" = backup ] || daemon_alive "$name" || return 1 # it is started last
    done
}

nodes_idle() {
    [ "$(SLURM_CONF=$dir/slurm.conf timeout 5 sinfo -h -N -t idle,mix,alloc -o %N | sort -u | wc -l)" = "$nodes" ]
}

# SPDX-License-Identifier: BSD-3-Clause
# The network between the node of a base and that of its extension is cut, without a connection reset: packets
# vanish. The base waits for RINGRT_TIMEOUT_MS and continues alone. The extension does not reach it again, and
# ends. The next one joins when the network is back. The cluster is in a network namespace of its own, where
# nftables drops the packets.
# seconds: 300
if [ -z "${RINGRT_OWN_NETWORK:-}" ]; then
    command -v nft >/dev/null && command -v ss >/dev/null || skip "needs nftables and iproute2"
    unshare --net true 2>/dev/null || skip "no network namespaces here"
    # Slurm resolves no name on a machine whose only address is 127.0.0.1 (AI_ADDRCONFIG).
    # shellcheck disable=SC2016
    env -u SLURM_CONF RINGRT_OWN_NETWORK=1 RINGRT_PLUGIN_DIR="$plugins" \
        unshare --net sh -c 'ip link set lo up && ip address add 192.0.2.1/32 dev lo && exec "$@"' sh "$here/run" --host "$host" "$file" >"$work/inner" 2>&1
    status=$?
    sed 's/^# //; s/^/# /' "$work/inner"
    ! grep -q '^ok .* # SKIP' "$work/inner" || exit 77
    exit $status
fi
. "$here/live.sh"
user=nobody directory=$work/cut steps=1200 timeout_ms=6000
own_directory
submit() { # NAME NODE [VARIABLE=VALUE]
    as_user env RINGRT_CHECKPOINT_DIR="$directory/checkpoints" RINGRT_TIMEOUT_MS=$timeout_ms "${@:3}" sbatch --parsable -J "$1" \
        -w "$2" --gpus=2 --ntasks=2 --no-requeue -o "$directory/$1" --wrap "exec srun --kill-on-bad-exit=0 $live $steps 50"
}
ports_of() { # STATE PID...: the local ports of the processes' sockets
    local state=$1
    shift
    ss -H state "$state" -tnp | grep -E "$(printf '|pid=%s,' "$@" | cut -c2-)" | awk '{ sub(/.*:/, "", $3); print $3 }' | sort -u | paste -sd,
}
ranks_of() { timeout 10 scontrol listpids "$1.0" "$2" | awk '$4 ~ /^[0-9]+$/ { print $1 }'; } # JOB NODE
# No packet of the extension's connections passes, and no new connection to the base.
cut_network() {
    local established listening
    mapfile -t ranks < <(ranks_of "$extension" n2)
    mapfile -t base_ranks < <(ranks_of "$base" n1)
    established=$(ports_of established "${ranks[@]}") listening=$(ports_of listening "${base_ranks[@]}")
    [ -n "$established" ] && [ -n "$listening" ] || fail "the ranks use no TCP"
    printf 'table inet cut {\nchain in {\ntype filter hook input priority 0;\n%s\n%s\n%s\n}\n}\n' \
        "tcp sport { $established } drop" "tcp dport { $established } drop" "tcp dport { $listening } tcp flags syn drop" | nft -f -
}

base=$(submit base n1) || fail "sbatch refused the base"
wait_for 30 "steps of the base" base_has 2
extension=$(submit first n2 RINGRT_EXTENDS="$base") || fail "sbatch refused the extension"
wait_for 30 "four ranks" base_has 4

cut_network || fail "nft refused the rules"
began=$(date +%s%N)
wait_for 30 "two ranks behind the cut" base_has 2
note "measured: $((($(date +%s%N) - began) / 1000000)) ms from the cut until the base continued alone, with a timeout of $timeout_ms ms"
wait_for 30 "end of the extension, which holds GPUs" is_state "$extension" FAILED
base_has 2 || fail "a rank joined through the cut"
nft delete table inet cut
submit second n2 RINGRT_EXTENDS="$base" >/dev/null || fail "sbatch refused the second extension"
wait_for 30 "four ranks after the cut" base_has 4
wait_for 120 "end of the base" is_state "$base" COMPLETED
check_each_step_once $steps $steps
check_weights $steps
check_never_restarted
injected 1

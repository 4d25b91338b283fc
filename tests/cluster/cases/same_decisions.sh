# SPDX-License-Identifier: BSD-3-Clause
#
# alone: a busy machine changes what is decided
# The same jobs through the real cluster and through `ringsim run --controller`: the same decisions in the
# same order. Events are far apart, and no two jobs are equally good to resize, so restart delays on a busy
# machine change no decision. b comes first: otherwise it would get nodes that another job leaves in the order
# in which they become free, and its place decides which job makes room on a node for r.
jobs='
# name  submit_s  sizes  seconds
b       0         4:8    90
a       4         1:16   118
c       22        2:4    96
r       36        4      24
d       48        1:2    32
e       74        2:4    44
'
ringsim=$plugins/../ringsim
[ -x "$ringsim" ] || { echo "# skipped: ringsim was not built"; exit 77; }
"$ringsim" run --help >/dev/null 2>&1 || { echo "# skipped: ringsim was built without libyaml"; exit 77; }

rows() { grep -v '^#' <<<"$jobs" | grep .; }

scenario() {
    echo 'cluster: {nodes: 4, gpus_per_node: 4}'
    echo 'controller:'
    sed 's/^/  /' "$dir/malleable.yaml"
    echo 'jobs:'
    rows | while read -r name submit sizes seconds; do
        case $sizes in
        *:*) echo "  - {id: $name, submit_s: $submit, min: ${sizes%:*}, max: ${sizes#*:}, seconds: $seconds}" ;;
        *) echo "  - {id: $name, submit_s: $submit, gpus: $sizes, seconds: $seconds}" ;;
        esac
    done
}

decisions() { # FILE FIRST_JOB: "job event from->to", jobs counted from 1
    sed -nE 's/.*"job":([0-9]+),"event":"(released|downsized|asked|called_off)","from":([0-9]+),"to":([0-9]+),.*/\1 \2 \3->\4/p' "$1" |
        awk -v first="$2" '$1 >= first { $1 -= first - 1; print }'
}

scenario >"$work/scenario.yaml"
"$ringsim" run --controller --events "$work/simulated.jsonl" "$work/scenario.yaml" || fail "ringsim"
began=$SECONDS first=0
while read -r name submit sizes seconds; do
    sleep $((began + submit > SECONDS ? began + submit - SECONDS : 0))
    case $sizes in
    *:*) start_job "same-$name" --malleable="$sizes" -- $((2 * seconds)) 500 ;;
    *) job=$(rigid "$sizes" "$seconds") ;;
    esac
    [ "$first" = 0 ] && first=$job
done < <(rows)
wait_for 200 "end of all jobs" no_jobs
sleep 1
decisions "$dir/log/malleable_events.jsonl" "$first" >"$work/real"
decisions "$work/simulated.jsonl" 1 >"$work/simulated"
[ "$(grep -c asked "$work/simulated")" -ge 5 ] || fail "the simulation resized too little to compare"
diff "$work/simulated" "$work/real" || fail "simulated (<) and real (>) decisions differ"
note "measured: $(wc -l <"$work/real") decisions, the same in the same order"
true

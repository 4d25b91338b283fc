# SPDX-License-Identifier: BSD-3-Clause
# Shared by the cases of resizing in place, which source it: the example live, whose base job $base writes
# into $directory/base.
# shellcheck shell=bash disable=SC2154
live=$(dirname "$plugins")/live
[ -x "$live" ] || skip "live is not built"
last_ranks() { tail -n 1 "$directory/base" | sed -n 's/^step [0-9]* ranks \([0-9]*\) .*/\1/p'; }
base_has() { [ "$(last_ranks)" = "$1" ]; }
check_never_restarted() {
    [ "$(timeout 10 scontrol -o show job "$base" | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p')" = 0 ] || fail "the base was restarted"
}
# Checks that the steps are in order and complete, and that their count is between LEAST and MOST.
check_each_step_once() { # LEAST MOST
    awk -v least="$1" -v most="$2" '$1 == "step" && $2 != ++n { bad = 1 } END { exit bad || n < least || n > most }' "$directory/base" ||
        fail "steps lost or done twice"
}
# Compares with the weights of one rank that did the steps alone.
check_weights() { # STEPS
    mkdir "$work/alone" && (cd "$work/alone" && env -u SLURM_JOB_ID "$live" "$1" 0) >"$work/alone.out" || fail "one rank alone failed"
    awk '$1 == "weights" { n++; a[n] = $2; b[n] = $3 } END { exit n != 2 || (a[1] - a[2]) ^ 2 + (b[1] - b[2]) ^ 2 > 1e-20 }' \
        "$directory/base" "$work/alone.out" || fail "other weights than one rank alone has"
}
kill_first_rank() { # EXTENSION
    local node pid
    node=$(timeout 5 squeue -h -j "$1" -o %N | sed 's/\[\([0-9]*\).*/\1/')
    pid=$(timeout 10 scontrol listpids "$1.0" "$node" | awk 'NR > 1 && $4 == 0 { print $1 }')
    [ -n "$pid" ] && kill -KILL "$pid" || fail "no rank to kill"
}
own_directory() { # belongs to the ordinary user $user, whose jobs end with the case
    mkdir -p "$directory"
    chown "$user" "$directory"
    trap scancel_all EXIT
}

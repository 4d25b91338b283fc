# SPDX-License-Identifier: BSD-3-Clause
# How contrib/test counts and reports. Sourced by it.
# shellcheck shell=bash disable=SC2154

passed=0 failed=0 skipped=0 failures=()

count() { # NAME PASSED FAILED SKIPPED LOG [WHY]
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    [ "$3" -eq 0 ] || failures+=("$1: $5${6:+$'\n'$6}")
}

# One step that succeeds or fails. Its output goes to a log.
step() { # NAME CMD...
    local name=$1 log="$logs/${1// /-}.log" begin=$SECONDS
    shift
    printf '%-34s' "$name"
    if "$@" >"$log" 2>&1; then
        echo "ok, $((SECONDS - begin)) s"
        count "$name" 1 0 0 "$log"
        return 0
    fi
    local why
    why=$(tail -n 15 "$log" | sed 's/^/    /')
    echo "FAILED after $((SECONDS - begin)) s:"
    echo "$why"
    count "$name" 0 1 0 "$log" "$why"
    return 1
}

# Test programs built with Check, and the scripts on a real cluster, report each case in TAP. Any
# other script is one case. Prints "passed failed skipped".
tally() { # RESULT (of the whole: PASS, FAIL, SKIP, ...), TAP-FILE...
    local result=$1
    shift
    cat "$@" 2>/dev/null | awk -v result="$result" '
        /^1\.\.[0-9]+/ { plan = 1 }
        /^ok .*# *[Ss][Kk][Ii][Pp]/ { s++; next }
        /^ok( |$)/ { p++ }
        /^not ok( |$)/ { f++ }
        END {
            bad = result !~ /^(PASS|XFAIL|SKIP)$/
            if (!plan || p + f + s == 0) { p = result ~ /^(PASS|XFAIL)$/; s = result == "SKIP"; f = bad }
            # It failed though all its cases passed: a crash at its end, a leak.
            if (bad && f == 0) f = 1
            print p + 0, f + 0, s + 0
        }'
}

# Each failed case once, with its own report: the reason, and the first lines of the rest.
failures_in() {
    awk '
        /^(not )?ok( |$)/ { within = 0 }
        /^not ok( |$)/ && !told[$0]++ { print; within = 1; more = 12; next }
        within && /^# failed/ || within && /^#/ && more-- > 0 { print }'
}

# One line for a test program, with the cases that failed or were skipped. For a script without
# cases, the end of its log.
tell() { # NAME RESULT TAP-FILE... LOG
    local name=$1 log=${*: -1} p f s why=''
    read -r p f s < <(tally "${@:2}")
    printf '  %-44s %4d passed %3d failed %3d skipped\n' "$name" "$p" "$f" "$s"
    if [ "$f" -gt 0 ]; then
        why=$({ cat "${@:3}" 2>/dev/null | failures_in | grep . || tail -n 15 "$log"; } | sed 's/^/    /')
        echo "$why"
    fi
    [ "$s" -eq 0 ] || cat "${@:3}" 2>/dev/null | grep -iE '^ok .*# *skip|^1\.\.0 # *skip' | sort -u | sed 's/^/    /' | grep . ||
        [ "$2" != SKIP ] || head -n 1 "$log" | sed 's/^/    skipped: /'
    count "$name" "$p" "$f" "$s" "$log" "$why"
}

total() { echo "$passed passed, $failed failed, $skipped skipped"; }

# The final report: what failed, where its log is, and why. Of a long output, readers see and logs
# keep the end.
finish() {
    [ ${#failures[@]} -eq 0 ] || printf '%s\n' "Failed:" "${failures[@]/#/  }"
    total
    [ "$failed" -eq 0 ]
    exit
}

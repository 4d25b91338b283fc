# SPDX-License-Identifier: BSD-3-Clause
# contrib/test --slurm: runs on other versions of Slurm, each in the chroot of a distribution
# that has it (contrib/root). Sourced by contrib/test.
# shellcheck shell=bash disable=SC2154

installed_slurm() { PATH=$PATH:/usr/sbin slurmctld -V 2>/dev/null | sed -n 's/^[^ ]* \([0-9]*\.[0-9]*\).*/\1/p'; }

version_of() { "$source_dir/contrib/root" list | awk -v name="$1" '$1 == name || $2 == name { print $2 }'; }

# The requested versions, the one that is installed here first.
choose_versions() { # VERSION|NAME|all
    local all native
    all=$("$source_dir/contrib/root" list | awk '{ print $2 }')
    [ "$1" = all ] || all=$(version_of "$1")
    [ -n "$all" ] || { echo "test: --slurm: expected all or one of $("$source_dir/contrib/root" list | awk '{ print $2 " (" $1 ")" }' | paste -sd, | sed 's/,/, /g'), got \"$1\"" >&2; exit 2; }
    native=$(installed_slurm)
    { grep -xF "$native" <<<"$all"; grep -vxF "$native" <<<"$all"; } | xargs
}

# Processes that wait and measure in the foreground must not be disturbed. Only for work without a
# time limit: during a build, downloads would exceed theirs.
stand_back() { chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 -p "$BASHPID"; } >/dev/null

# What git would commit; outside git, everything that is not a build.
copy_source() { # TO
    rm -rf "$1" && mkdir -p "$1" && cd "$source_dir" || return
    if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
        git -c safe.directory='*' ls-files -z --cached --others --exclude-standard
    else
        find . \( -path './build*' -o -path "./${build_dir#"$source_dir/"}" \) -prune -o \( -type f -o -type l \) -print0
    fi | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$1"
}

in_root() { # VERSION [OPTION...] -- CMD...
    local version=$1
    shift
    "$source_dir/contrib/root" run "$version" --dir "$roots_dir" --bind "$build_dir/$version" "$@"
}

# Everything that needs the network, and the build. A missing part is the reason to skip a version.
prepare() { # VERSION
    local to=$build_dir/$1 has
    "$source_dir/contrib/root" make "$1" --dir "$roots_dir" || return 77
    copy_source "$to/source" || { echo "cannot copy the sources"; return 1; }
    mkdir -p "$to/build"
    in_root "$1" --net -- "$to/source/contrib/packages" install build cluster site test deb services || { echo "the packages cannot be installed"; return 77; }
    in_root "$1" --net -- "$to/source/contrib/examples/get-digits" "$to/build/digits.csv" || return 77
    has=$(in_root "$1" -- slurmctld -V | sed -n 's/^[^ ]* \([0-9]*\.[0-9]*\).*/\1/p')
    [ "$has" = "$1" ] || { echo "the distribution has Slurm ${has:-none} now, not $1"; return 77; }
    # The run that follows reports a failed build.
    (
        [ "${versions[0]}" != "$native" ] || stand_back
        in_root "$1" -- "$to/source/contrib/test" --no-install --jobs "$jobs" --build-dir "$to/build" --stages build
    )
    return 0
}

prepare_aside() { # VERSION: sets preparing[VERSION]
    mkdir -p "$build_dir/$1"
    set -m # its own process group, so that it can be ended
    (prepare "$1"; echo $? >"$build_dir/$1/prepared") >"$build_dir/$1/prepare.log" 2>&1 &
    preparing[$1]=$!
    set +m
}

end_preparations() {
    local pid
    for pid in "${preparing[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
}

heading() { printf '\n==== Slurm %s (%s) ====\n' "$1" "$("$source_dir/contrib/root" list | awk -v v="$1" '$2 == v { $1 = $2 = ""; print substr($0, 3) }')"; }

run_version() { # VERSION STAGES: its whole output; what it needs is prepared
    local version=$1 to=$build_dir/$1 status
    heading "$version"
    if [ "$version" = "$native" ]; then
        # packages: see packages_of_native
        "$source_dir/contrib/test" --no-install --jobs "$jobs" --build-dir "$to" --stages "build$(tr , '\n' <<<"$2" | sed '/^packages$/d; s/^/,/' | tr -d '\n')"
        return
    fi
    status=$(cat "$to/prepared" 2>/dev/null)
    if [ "$status" = 0 ]; then
        in_root "$version" -- "$to/source/contrib/test" --no-install --jobs "$jobs" --build-dir "$to/build" --stages "$2"
    elif [ "$status" = 77 ]; then
        echo "skipped: $(tail -n 1 "$to/prepare.log" | sed 's/^root: //'); see $to/prepare.log"
        echo "0 passed, 0 failed, 1 skipped"
    else
        tail -n 15 "$to/prepare.log"
        echo "0 passed, 1 failed, 0 skipped"
    fi
}

# The packages of the version that is installed here. They are also installed in a chroot, from
# the tarball of the stage dist.
native_packages_in_root() {
    local to=$build_dir/$native
    (
        "$source_dir/contrib/root" make "$native" --dir "$roots_dir" && copy_source "$to/source" &&
            in_root "$native" --net -- "$to/source/contrib/packages" install plugins deb cluster services
    ) >"$to/prepare.log" 2>&1 || { echo "1..0 # SKIP $(tail -n 1 "$to/prepare.log" | sed 's/^root: //')"; return 77; }
    in_root "$native" -- "$to/source/tests/packages" "$to"/ringrt-*.tar.xz "$to/packages"
}
services_of_native() { in_root "$native" -- "$build_dir/$native/source/tests/services" "$build_dir/$native/packages"; }

packages_of_native() {
    (
        # shellcheck disable=SC2034,SC2030 # for finish
        passed=0 failed=0 skipped=0 failures=()
        heading "$native"
        on_cluster tests/packages native_packages_in_root
        on_cluster tests/services services_of_native
        finish
    )
}

# Adds the last line of a version's output to the sum.
add_version() { # VERSION LOG SECONDS [WHAT]
    local line p f s
    line=$(tail -n 1 "$2")
    [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] || line="0 passed, 1 failed, 0 skipped"
    read -r p _ f _ s _ <<<"$line"
    count "Slurm $1" "$p" "$f" "$s" "$2" "$(sed -n '/^Failed:$/,$ { /^ /s/^/  /p }' "$2")"
    summary+=("$(printf 'Slurm %s%s: %s, %d s%s' "$1" "${4:+, $4}" "$line" "$3" "$(sed -n 's/^skipped: /: /p' "$2" | head -n 1)")")
}

run_and_add() { # VERSION STAGES
    local began=$SECONDS
    [ -z "${preparing[$1]:-}" ] || wait "${preparing[$1]}"
    run_version "$1" "$2" 2>&1 | tee "$logs/slurm-$1.log"
    add_version "$1" "$logs/slurm-$1.log" $((SECONDS - began))
}

has_packages_of_native() { [ "${versions[0]}" = "$native" ] && [[ ",$stages," == *,dist,*packages,* ]]; }
add_packages_of_native() { # SECONDS
    cat "$logs/slurm-$native-packages.log"
    add_version "$native" "$logs/slurm-$native-packages.log" "$1" packages
}

# The short list waits more than it computes, and each root has its own network.
run_side_by_side() { # VERSION...
    local version began=$SECONDS aside=''
    declare -A running=()
    ! has_packages_of_native || { packages_of_native >"$logs/slurm-$native-packages.log" 2>&1 & aside=$!; }
    for version in "$@"; do
        wait "${preparing[$version]}"
        run_version "$version" short,packages >"$logs/slurm-$version.log" 2>&1 &
        running[$version]=$!
    done
    [ -z "$aside" ] || { wait "$aside"; add_packages_of_native $((SECONDS - began)); }
    for version in "$@"; do
        wait "${running[$version]}"
        cat "$logs/slurm-$version.log"
        add_version "$version" "$logs/slurm-$version.log" $((SECONDS - began))
    done
}

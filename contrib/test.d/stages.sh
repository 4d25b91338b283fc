# SPDX-License-Identifier: BSD-3-Clause
# The stages of contrib/test, on the Slurm that is installed here. Sourced by it.
# shellcheck shell=bash disable=SC2154

# ---- build --------------------------------------------------------------------------------------

configure_in() { # DIR OPTION...
    mkdir -p "$1" && cd "$1" && shift && "$source_dir/configure" --enable-werror CXXFLAGS="$flags" "$@"
}

# A warning that is not an error (from a linker or automake) is still a failure.
no_warnings_in() { ! grep -nE '(: |^)[Ww]arning: ' "$@"; }

stage_build() {
    [ "$install" -eq 0 ] || step "packages" "$source_dir/contrib/packages" install build cluster site test || finish
    step "autoreconf" autoreconf -fi "$source_dir" || finish
    step "configure" configure_in "$build_dir" || finish
    step "build" make -C "$build_dir" -j"$jobs" all || finish
    step "no warnings" no_warnings_in "$logs/build.log" "$logs/autoreconf.log"
}

# ---- check --------------------------------------------------------------------------------------

build_checks_in() { make -C "$1" -j"$jobs" check TESTS=; }

# make check, then one line for each test program of that build. Three at a time: many of them wait for each other's
# ranks, and none asserts a time.
check_in() { # TITLE DIR
    local title=$1 dir=$2 begin failed_before=$failed status trs name
    local log="$logs/${title// /-}.log"
    step "build of $title" build_checks_in "$dir" || return
    begin=$SECONDS
    echo "$title:"
    find "$dir" \( -name '*.trs' -o -name '*.tap' \) -delete
    make -C "$dir" -j3 check LOG_COMPILER="$source_dir/tests/with-tap" >"$log" 2>&1
    status=$?
    while read -r trs; do
        name=${trs#"$dir"/} name=${name%.trs}
        local files=("$dir/$name.log")
        [ ! -s "$dir/$name.tap" ] || files=("$dir/$name.tap" "$dir/$name.log")
        tell "$name" "$(sed -n 's/^:global-test-result: //p' "$trs")" "${files[@]}"
    done < <(find "$dir" -name '*.trs' | sort)
    echo "  took $((SECONDS - begin)) s"
    # A test that left no result must not go unnoticed.
    [ $status -eq 0 ] || [ "$failed" -gt "$failed_before" ] || { tail -n 15 "$log"; count "$title" 0 1 0 "$log"; }
}

stage_check() { check_in "make check" "$build_dir"; }

stage_sanitize() {
    step "configure sanitized" configure_in "$build_dir/sanitized" --enable-sanitize || finish
    step "build sanitized" make -C "$build_dir/sanitized" -j"$jobs" all || finish
    check_in "make check sanitized" "$build_dir/sanitized"
}

# ---- on a real Slurm cluster: TAP on standard output ----------------------------------------------

on_cluster() { # NAME CMD...
    local name=$1 begin=$SECONDS log="$logs/${1//[ \/]/-}.log" result
    shift
    echo "$name, on Slurm $(installed_slurm):"
    (cd "$build_dir" && "$@") >"$log" 2>&1
    case $? in
    0) result=PASS ;;
    77) result=SKIP ;;
    *) result=FAIL ;;
    esac
    tell "$name" "$result" "$log"
    echo "  took $((SECONDS - begin)) s"
}

# Five cases at once: they wait more than they compute (each uses about a sixth of a core).
cases() { on_cluster "$1" "$source_dir/tests/cluster/run" --jobs 5 "${@:2}"; }

stage_cluster() { cases tests/cluster; }
stage_daemon() { cases "tests/cluster with ringrtd" --host daemon; }
stage_daemon_short() { cases "tests/cluster with ringrtd, the short list" --host daemon --short; }
stage_short() { cases "tests/cluster, the short list" --jobs 3 --short; } # on two versions at once

# The demo's own lines, such as "2 resizes (...)", are in its log.
stage_demo() { step "demo" "$source_dir/contrib/demo" --no-install --build-dir "$build_dir" && grep -E '^ *(resizes|training paused|GPUs idle|steps lost|mean comp)' "$logs/demo.log"; }

# Leaves out the faults that the stages check and cluster have already injected.
stage_faults() {
    local rest=''
    [[ ",$stages," != *,check,* || ",$stages," != *,cluster,* ]] || rest=--rest
    step "build of the fault rows" make -C "$build_dir" -j"$jobs" check-faults-programs || return
    on_cluster tests/faults "$source_dir/tests/faults/run" --tap $rest
}

# ---- installation and packages ---------------------------------------------------------------------

# As a user: builds the example against the files of `make install`.
build_on_installed() {
    local to=$build_dir/installed
    rm -rf "$to" && make -C "$build_dir" install DESTDIR="$to" &&
        cp -r "$source_dir/contrib/examples" "$to/example" && cd "$to/example" &&
        PKG_CONFIG_SYSROOT_DIR=$to PKG_CONFIG_PATH=$(dirname "$(find "$to" -name ringrt.pc)") make -f Makefile.example &&
        LD_LIBRARY_PATH=$(dirname "$(find "$to" -name 'libringrt.so' | head -n 1)") ./digits --help
}

stage_example() { step "example on make install" build_on_installed; }

# Files that git tracks and `make dist` leaves out, except those that only a checkout needs.
tarball_is_whole() {
    local tracked packed
    tracked=$(git -c safe.directory='*' -C "$source_dir" ls-files | grep -vE '^(\.ci/|\.clang-format$|(.*/)?\.gitignore$)' | sort) ||
        { echo "not a checkout: nothing to compare with"; return 0; }
    packed=$(tar -tf "$build_dir"/ringrt-*.tar.xz | sed 's,^[^/]*/,,' | sort)
    [ -n "$packed" ] || return
    comm -23 <(echo "$tracked") <(echo "$packed") | sed 's/$/ is not in the tarball: EXTRA_DIST/' | tee /dev/stderr | (! grep -q .)
}

# The tests already ran out of tree. This stage checks what the tarball builds, installs and
# removes, and that it holds every file, including those of the tests. ccache has compiled
# everything already if the build directory is two levels below the checkout, like distcheck's: the
# relative paths are the same.
stage_dist() {
    has_tarball=1
    step "make distcheck" make -C "$build_dir" -j"$jobs" distcheck TESTS= \
        DISTCHECK_CONFIGURE_FLAGS="--without-check --enable-werror CXXFLAGS='$flags'" && step "all files in the tarball" tarball_is_whole
}

stage_packages() {
    [ "${has_tarball:-0}" = 1 ] || step "make dist" make -C "$build_dir" dist || return
    on_cluster tests/packages "$source_dir/tests/packages" "$build_dir"/ringrt-*.tar.xz "$build_dir/packages"
    on_cluster tests/services "$source_dir/tests/services" "$build_dir/packages"
}

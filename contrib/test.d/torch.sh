# SPDX-License-Identifier: BSD-3-Clause
# contrib/test --stages torch: the Python package with the real PyTorch and frameworks, which pip
# installs into the build directory; torch-short: some of its tests, a few of them also with the versions two minor
# releases before. The downloads run at the same time as the other stages. torch-versions: all tests with three minor
# versions.
# Sourced by contrib/test.
# shellcheck shell=bash disable=SC2154

fetch_torch_aside() { # [frameworks]
    [ -z "${RINGRT_TORCH_PYTHON:-}" ] || return 0
    set -m # its own process group, so that it can be ended
    (renice -n 10 "$BASHPID" >/dev/null; exec "$source_dir/contrib/get-torch" "$build_dir/torch-venv" "$@") >"$logs/torch-fetch.log" 2>&1 &
    torch_fetched=$!
    set +m
    trap end_torch_fetches EXIT
}

# After the newest versions, because these are needed first.
fetch_older_torch_aside() {
    [ -z "${RINGRT_TORCH_PYTHON:-}" ] || return 0
    set -m
    (
        renice -n 10 "$BASHPID" >/dev/null
        while is_fetching_torch; do sleep 5; done
        exec "$source_dir/python/tests/versions" --install-only --directory "$build_dir/torch-versions" 2
    ) >"$logs/torch-versions-fetch.log" 2>&1 &
    older_fetched=$!
    set +m
}

end_torch_fetch() { [ -z "${torch_fetched:-}" ] || kill -TERM -- "-$torch_fetched" 2>/dev/null; }
end_torch_fetches() {
    end_torch_fetch
    [ -z "${older_fetched:-}" ] || kill -TERM -- "-$older_fetched" 2>/dev/null
}
is_fetching_torch() { [ -n "${torch_fetched:-}" ] && kill -0 "$torch_fetched" 2>/dev/null; }

# The download has had the time of the other stages, so a slow one is not a failure.
stage_torch_short() {
    local i
    for ((i = 0; i < 60; i++)); do
        is_fetching_torch || break
        sleep 1
    done
    if is_fetching_torch; then
        end_torch_fetch
        echo "the download took longer than the other stages" >>"$logs/torch-fetch.log"
    fi
    RINGRT_SHORT=1 test_torch wheel torch frameworks
    [ -n "${older_fetched:-}" ] || return 0
    wait "$older_fetched" # what it could not install is skipped, with pip's reason
    older_fetched=''
    test_torch_versions --quick --directory torch-versions 2
    rm -rf "$build_dir/torch-versions" # 4 GB
}

stage_torch() {
    test_torch wheel torch frameworks jax
    local python=${RINGRT_TORCH_PYTHON:-$build_dir/torch-venv/bin/python}
    [ ! -x "$python" ] || step "demo --torch" env RINGRT_TORCH_PYTHON="$python" "$source_dir/contrib/demo" --torch --no-install --build-dir "$build_dir"
}

stage_torch_versions() { test_torch_versions; }

test_torch_versions() { # OPTION... of python/tests/versions
    local result=PASS begin=$SECONDS log=$logs/torch-versions.log
    echo "torch, the last three minor versions of each package${1:+, $*}:"
    (cd "$build_dir" && "$source_dir/python/tests/versions" "$@") >"$log" 2>&1 || { [ $? = 77 ] && result=SKIP || result=FAIL; }
    tell python/tests/versions $result "$log"
    sed -n '/ # SKIP /!s,^ok [0-9]* - ,    ,p' "$log"
    echo "  took $((SECONDS - begin)) s"
}

test_torch() { # CHECK...: of python/tests
    local name log begin result python=${RINGRT_TORCH_PYTHON:-$build_dir/torch-venv/bin/python}
    local fetched=${torch_fetched:-}
    [ -z "$fetched" ] || wait "$fetched" || fetched=failed
    torch_fetched=''
    if [ "$fetched" = failed ]; then
        echo "torch: skipped: $(tail -n 1 "$logs/torch-fetch.log")"
        count torch 0 0 1 "$logs/torch-fetch.log"
        return
    fi
    echo "torch:"
    begin=$SECONDS
    for name in "$@"; do
        log=$logs/torch-$name.log
        (cd "$build_dir" && RINGRT_TORCH_PYTHON=$python srcdir=$source_dir "$source_dir/python/tests/check-$name") >"$log" 2>&1
        case $? in
        0) result=PASS ;;
        77) result=SKIP ;;
        *) result=FAIL ;;
        esac
        tell "python/tests/check-$name" "$result" "$log"
    done
    echo "  took $((SECONDS - begin)) s"
}

# SPDX-License-Identifier: BSD-3-Clause
# A small production site for one case: contrib/cluster --site, ordinary users, a real slurmdbd. Sourced by
# the cases site_*, after lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154

site_up() { # OPTIONS... of contrib/cluster
    dir=$("$cluster" start --site --plugin-dir "$plugins" --malleable --host "$host" --yaml "$work/malleable.yaml" "$@" 2>"$work/site.err")
    case $? in
    0) ;;
    77) note "skipped: $(tail -n 1 "$work/site.err")"; exit 77 ;;
    *) cat "$work/site.err"; fail "no site" ;;
    esac
    trap '"$cluster" stop "$dir"' EXIT
    trap 'exit 1' INT TERM
    use_cluster
}

as() { "$cluster" as "$dir" "$@"; } # USER CMD...

# user_job USER NAME SBATCH_OPTIONS... -- STEPS STEP_MS [MANNER]: sets $job and $directory
user_job() {
    local options=() user=$1 name=$2
    shift 2
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    directory=$dir/home/$user/$name
    as "$user" mkdir -p "$directory"
    job=$(as "$user" sbatch --parsable -J "$name" -D "$directory" -o "$directory/out" "${options[@]}" "$plain_job" "$directory" "$@") ||
        fail "sbatch refused $name of $user"
}

user_rigid() { # USER SECONDS OPTIONS...: prints the job's number
    local user=$1 seconds=$2
    shift 2
    as "$user" sbatch --parsable -J rigid -D / -o /dev/null "$@" --wrap "sleep $seconds"
}

limit() { sacctmgr -i modify "$@" >>"$work/sacctmgr" 2>&1 || fail "sacctmgr modify $*: $(tail -n 1 "$work/sacctmgr")"; }

field() { timeout 10 scontrol -o show job "$1" | sed -n "s/.* $2=\([^ ]*\).*/\1/p"; } # JOB NAME
has_field() { [ "$(field "$1" "$2")" = "$3" ]; }
site_slurm() { slurmctld -V | sed 's/.* //'; }
slurm_at_least() { [ "$(printf '%s\n' "$1" "$(site_slurm)" | sort -V | head -n 1)" = "$1" ]; }

# Runs with this many GPUs and ranks. The GPU's type precedes its number.
runs_with() { is_state "$1" RUNNING && [ "$(gpus_of "$1")" = "$2" ] && [ "$(ranks_now "$1")" = "$2" ]; }

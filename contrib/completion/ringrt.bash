# SPDX-License-Identifier: BSD-3-Clause
# bash completion of ringrt's tools, and of sbatch's --malleable options. A tool's options and
# commands are read from its --help, so they are always current. Install it as
# PREFIX/share/bash-completion/completions/ringrt, with a link to it by the name of each tool; for
# sbatch, source it (/etc/bash_completion.d).

_ringrt_help_options() { # COMMAND...: one per line
    "$@" --help 2>/dev/null | sed -nE 's/^  (-.*)/\1/p' | grep -oE '^(-[A-Za-z],)?(-[A-Za-z]|--[a-z][a-z0-9-]*)(,--[a-z][a-z0-9-]*)*' | tr ',' '\n'
}
_ringrt_help_commands() { # TOOL: one per line
    "$1" --help 2>/dev/null | sed -nE '/^(Subcommands|SUBCOMMANDS):/,/^$/s/^  ([a-z][a-z-]*) .*/\1/p'
}

_ringrt_states='all PD R S CG CD CA F TO NF PR BF DL OOM'

_ringrt() {
    local tool=$1 cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' word
    local commands
    commands=$(_ringrt_help_commands "$tool")
    [ "$(basename "$tool")" = ringbench ] && commands=train
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        grep -qxF -- "$word" <<<"$commands" && { command=$word; break; }
    done
    COMPREPLY=()
    case $prev in
        -t | --states) mapfile -t COMPREPLY < <(compgen -W "$_ringrt_states" -- "$cur"); return ;;
        -u | --user) mapfile -t COMPREPLY < <(compgen -u -- "$cur"); return ;;
    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_ringrt_help_options "$tool" ${command:+"$command"})" -- "$cur")
    elif [ -z "$command" ] && [ -n "$commands" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
    else
        case $command in
            explain | history | chart | acct)
                mapfile -t COMPREPLY < <(compgen -W "$(timeout 2 "$tool" -h -t all -o %i 2>/dev/null)" -- "$cur") ;;
        esac
    fi
}
complete -o default -F _ringrt ringstat ringsim ringfit ringplan ringbench ringrtd ringrt-check

# Slurm's own completion of sbatch, if it is installed, then ringrt's.
_ringrt_sbatch_before=$(complete -p sbatch 2>/dev/null | sed -nE 's/.* -F ([^ ]+).*/\1/p')
_ringrt_sbatch() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    [ -n "$_ringrt_sbatch_before" ] && "$_ringrt_sbatch_before" "$@"
    [[ $cur == --* ]] || return 0
    local ours
    mapfile -t ours < <(compgen -W '--malleable= --malleable-signal= --malleable-grace= --malleable-pause' -- "$cur")
    COMPREPLY+=("${ours[@]}")
}
[ "$_ringrt_sbatch_before" = _ringrt_sbatch ] && _ringrt_sbatch_before=''
complete -o default -o nospace -F _ringrt_sbatch sbatch

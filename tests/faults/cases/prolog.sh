# SPDX-License-Identifier: BSD-3-Clause
# A slow prolog, a slow epilog, and a prolog that fails at a restart. The resize waits, and a job whose
# restart count increased twice continues from its save (F33).
out=$work/prolog
cat >"$work/slow" <<'END'
#!/bin/bash
[ -e DIRECTORY/slow.on ] && sleep 8
[ "$1" = epilog ] || [ ! -e DIRECTORY/fail ] || { rm -f DIRECTORY/fail; exit 1; }
exit 0
END
sed -i "s|DIRECTORY|$work|g" "$work/slow"
sed 's/exit 1/exit 0/' "$work/slow" >"$work/epilog"
chmod +x "$work/slow" "$work/epilog"
"$cluster" start --dir "$out" --nodes 2 --plugin-dir "$plugins" --malleable --yaml "$work/malleable.yaml" \
    --conf "Prolog=$work/slow" --conf "Epilog=$work/epilog" --conf PrologFlags=Alloc >/dev/null || fail "no cluster"
trap '"$cluster" stop "$out"' EXIT
# shellcheck disable=SC1091
. "$out/env"
dir=$out
start_job waits --malleable=1:8 -- 100000 100
wait_for 60 "start" runs_with "$job" 8
: >"$work/slow.on" # from now on: the old run's epilog, then the new run's prolog
guest=$(rigid 4 300 -N1)
wait_for 120 "resize to 4 GPUs through a slow epilog and prolog" runs_with "$job" 4
check_steps
note "measured: $(gap_of "$job") s from signal to running again, with 8 s of epilog and 8 s of prolog"
rm "$work/slow.on"
# A prolog that fails drains the node and requeues the job, which is held. The administrator resumes and
# releases them.
scancel "$guest"
: >"$work/fail"
repair() {
    timeout 10 sinfo -h -N -t drain,down -o %N | while read -r name; do timeout 10 scontrol update nodename="$name" state=resume; done
    timeout 10 scontrol release "$job" 2>/dev/null
    runs_with "$job" 8
}
wait_for 150 "growth after a prolog that failed" repair
check_steps
injected 3

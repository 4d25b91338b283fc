# SPDX-License-Identifier: BSD-3-Clause
# Submission by slurmrestd, which has no --malleable: from Slurm 24.11 on, a job's description carries the same in
# spank_environment and environment. 22.05 refuses that field in one line.
PATH=$PATH:/usr/sbin
for program in slurmrestd curl; do command -v $program >/dev/null || skip "$program is missing; run: contrib/packages install site"; done
user=nobody
rest=$work/rest directory=$work/job
mkdir "$rest" "$directory" && chown "$user" "$rest" "$directory" || fail "no directories"
version=$(slurmctld -V | sed 's/slurm-wlm //; s/slurm //; s/\.[0-9]*\(-.*\)*$//')
case $version in 22.05) api=v0.0.38 load='-s openapi/v0.0.38' ;; *) api=v0.0.42 load='-s slurmctld -d v0.0.42' ;; esac
# shellcheck disable=SC2086
timeout 200 setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups \
    slurmrestd -a rest_auth/local $load "unix:$rest/socket" >"$work/restd.out" 2>&1 &
daemon=$!
trap 'ended=$?; kill $daemon; cancel_jobs; exit $ended' EXIT
wait_for 20 "slurmrestd" test -S "$rest/socket"
submit() { # RANGE
    cat >"$work/job.json" <<END
{"script": "#!/bin/bash\nexec $plain_job $directory 100000 100\n",
 "job": {"name": "rest", "current_working_directory": "$directory", "standard_output": "$directory/out",
  "spank_environment": ["MALLEABLE=$1"],
  "environment": ["PATH=$PATH", "SLURM_CONF=$SLURM_CONF", "SLURM_SPANK_MALLEABLE=$1", "SLURM_SPANK_MALLEABLE_LAYOUT=gpu"]}}
END
    as_user curl -s --unix-socket "$rest/socket" -H 'Content-Type: application/json' -d "@$work/job.json" "http://localhost/slurm/$api/job/submit"
}
answer=$(submit 1:8)
if [ "$version" = 22.05 ]; then
    grep -q 'Unknown key \\"spank_environment\\"' <<<"$answer" || fail "another answer: $answer"
    exit 0
fi
job=$(sed -n 's/.*"job_id": *\([0-9]*\).*/\1/p' <<<"$answer" | head -n 1)
[ -n "$job" ] || fail "refused: $answer"
wait_for 60 "run with 8 GPUs" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10
guest=$(rigid 12 600 -N3)
wait_for 60 "start of a rigid job" is_state "$guest" RUNNING
wait_for 60 "run with fewer GPUs" runs_with "$job" 4
check_steps
scancel "$guest"
wait_for 90 "growth to 8 GPUs" runs_with "$job" 8

answer=$(submit 1:nonsense)
grep -q '"error_number": *[1-9]' <<<"$answer" || fail "accepted: $answer"
grep -qe '--malleable' <<<"$answer" || note "the answer lacks the reason"

# SPDX-License-Identifier: BSD-3-Clause
# Every run is billed at its own size, in slurmdbd and sshare, on a site that bills GPUs. Up to 24.05 Slurm
# computes a job's billing TRES once and keeps it over requeues. The update that recomputes it would cost the
# job's next run its row. On those versions the case checks what is documented: GPU seconds are right and
# billing is not.
. "$here/site.sh"
site_up
slurm_at_least 24.11 && is_right=1 || is_right=0

others=$(user_rigid carol 600 -p h100 --gpus=4)
blocker=$(user_rigid bob 600 --gpus=8 --nodes=2 -w "n[1-2]")
wait_for 30 "start of bob's job" is_state "$blocker" RUNNING
user_job alice grows --malleable=1:8 -- 100000 100
wait_for 60 "run with 2" runs_with "$job" 2
tres() { sacct -n -P -D -X -a -j "$job" -o state,elapsedraw,alloctres; }
sleep 6
as bob scancel "$blocker"
wait_for 90 "run with 8" runs_with "$job" 8
sleep 6
guest=$(user_rigid bob 600 --gpus=4 --nodes=1)
wait_for 90 "run with 4" runs_with "$job" 4
sleep 6
as alice scancel "$job"
wait_for 30 "end" is_state "$job" CANCELLED
ended() { tres | tail -n 1 | grep -q '^CANCELLED'; }
wait_for 20 "its end in slurmdbd" ended
sleep 2
tres | sed 's/^/# /'

# Fairshare counts what is billed. alice has run nothing else.
usage=$(as slurm sshare -n -P -a -o user,rawusage | sed -n 's/^ *alice|//p')

# Seconds of GPUs, and of their billing (10 a GPU). A run's first second may still be billed at the previous
# run's size.
tres | awk -F'|' -v is_right=$is_right -v usage="$usage" '
    { gpus = billed = 0; n = split($3, item, ",")
      for (i = 1; i <= n; i++) { split(item[i], part, "="); if (part[1] == "gres/gpu") gpus = part[2]; if (part[1] == "billing") billed = part[2] }
      seconds[gpus] += $2; gpu_s += gpus * $2; bill_s += billed * $2; if (billed != 10 * gpus && $2 > 2) wrong++ }
    END { printf "# GPU seconds %d, billed %d (%.0f %%), fairshare counts %d, rows of more than 2 s with a bill of another size: %d\n", gpu_s, bill_s, bill_s * 10 / gpu_s, usage, wrong
          if (!seconds[2] || !seconds[4] || !seconds[8]) { print "# failed: a run is missing"; exit 1 }
          if (is_right && wrong) { print "# failed: a run was billed at the size of another"; exit 1 }
          if (is_right && (usage < 8 * gpu_s || usage > 12 * gpu_s)) { print "# failed: fairshare counts another size"; exit 1 }
          if (!is_right && !wrong) { print "# failed: this Slurm bills each run right: doc/slurm.md says that it does not"; exit 1 } }' || exit 1

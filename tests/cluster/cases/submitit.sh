# SPDX-License-Identifier: BSD-3-Clause
# alone: MASTER_PORT comes from the number of the job, and that of each cluster's first job is 1
#
# seconds: 400
# An unmodified submitit script: its header, its signal, its own save and requeue, from 1 GPU to 2 and back.
. "$here/torch.sh"
need_modules "torch, submitit"
top=$work/submitit
mkdir -p "$top/run"
install_package "$top"
own_port
last_size() { [ "$(tail -n 1 "$top/run/log" | cut -d' ' -f2)" = "$1" ]; }

most=$(rigid 12 900 -N3) # its header has one GPU a node: there is no second node
wait_for 20 "start of the rigid job" is_state "$most" RUNNING
cp "$here/../../contrib/examples/train_submitit.py" "$top"
(cd "$top" && SBATCH_MALLEABLE=1:2 SBATCH_MALLEABLE_SIGNAL=USR2 exec "$python" train_submitit.py \
    --folder "$top/run" --steps 240 --pause 0.3) >"$top/said" 2>&1 &
submitter=$!
wait_for 90 "steps on 1 GPU" last_size 1
job=$(sed -n 's/^job //p' "$top/said")
scancel "$most"
wait_for 120 "steps on 2 GPUs" last_size 2
note "measured: $(gap_of "$job") s from the signal until it ran again, at 2 GPUs"
most=$(rigid 12 900 -N3)
wait_for 120 "steps on 1 GPU again" last_size 1
note "measured: $(gap_of "$job") s from the signal until it ran again, at 1 GPU"
wait_for 200 "end of the training" is_state "$job" COMPLETED
# submitit saves between any two lines of the program: a step may be done twice, but none is skipped.
awk '{ if ($3 > last + 1) { print "# step " $3 " after " last; bad = 1 }; if ($3 <= last) again++; last = $3 } BEGIN { last = -1 }
    END { print "# measured: " last + 1 " steps, " again + 0 " done twice"; exit bad || last != 239 || again > 2 }' "$top/run/log" ||
    fail "steps were lost"
wait $submitter || fail "the submitter: $(tail -n 3 "$top/said")"
grep -q 'steps done: 240' "$top/said" || fail "the submitter got no result: $(tail -n 3 "$top/said")"
scancel "$most"

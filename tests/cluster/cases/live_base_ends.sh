# SPDX-License-Identifier: BSD-3-Clause
# seconds: 400
# A base ends while an extension of it is submitted, pending, starting or joining (doc/live.md, "Crash points"): its
# batch script ends with 0 or 1, or a rank is killed. Nothing of it remains: no extension runs without its base.
. "$here/live.sh"
user=nobody directory=$work/live_base_ends
own_directory
set_yaml "$(sed 's/^back_off_s: .*/back_off_s: 2/' "$dir/malleable.yaml")
resize: live"
cd "$directory" || fail "no directory"
jobs_of() { timeout 5 squeue -h -o '%i %j %t' | awk -v name="$1" '$2 == name || index($2, name "+") == 1'; }
extends() { jobs_of "$1" | grep -q "$1+"; }
is_gone() { [ -z "$(jobs_of "$1")" ]; }
number=0
for how in 0 1 killed; do
    for after in 0 0.1 0.3 0.6; do
        number=$((number + 1))
        name=ends$number
        # The steps end with the batch script.
        base=$(as_user env RINGRT_LIVE_RESIZE=1 sbatch --parsable -J "$name" --malleable=1:2 -o "$directory/base" --wrap \
            "srun $live 100000 200 & while [ ! -e end$number ]; do sleep 0.02; kill -0 \$! || exit 1; done; exit \$(cat end$number)") ||
            fail "sbatch refused the base"
        wait_for 40 "an extension of $name" extends "$name"
        sleep "$after"
        seen=$(jobs_of "$name" | sed -n "s/.*+[0-9]* //p" | sort -u | tr '\n' ' ')
        if [ "$how" = killed ]; then
            kill_first_rank "$base"
        else
            as_user sh -c "echo $how >new && mv new end$number"
        fi
        injected "$name: the base ends ($how) $after s after its extension was seen ($seen)"
        wait_for 60 "end of $name and its extensions" is_gone "$name"
    done
done
sleep 3 # the controller looks every second
is_left() { timeout 5 squeue -h -o '%i %j' | grep ' ends[0-9]'; }
is_left && fail "an extension was submitted after its base had ended"
:

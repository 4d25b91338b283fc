# SPDX-License-Identifier: BSD-3-Clause
# Under proctrack/cgroup Slurm's signal reaches the tasks alone (here a shell), and no rank below them:
# `srun bash -c`, torchrun, conda run. They are asked over the channel.
. "$here/below_script.sh"
[ -w /sys/fs/cgroup/freezer ] && mkdir /sys/fs/cgroup/freezer/ringrt-probe.$$ 2>/dev/null ||
    skip "proctrack/cgroup needs a cgroup v1 hierarchy freezer here that can be written"
rmdir /sys/fs/cgroup/freezer/ringrt-probe.$$

# Nodes of one name on one machine share a cgroup: the numbers of jobs tell clusters apart.
pair=$("$cluster" start --plugin-dir "$plugins" --malleable --host "$host" --yaml "$dir/malleable.yaml" \
    --conf ProctrackType=proctrack/cgroup --conf "FirstJobId=$((10000 + RANDOM))") || fail "no second cluster"
ended() { "$cluster" stop "$pair"; exit "$1"; }
trap 'ended $?' EXIT
printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n' >"$pair/cgroup.conf"
for node in n1 n2 n3 n4; do "$cluster" daemon "$pair" term $node; "$cluster" daemon "$pair" start $node; done
dir=$pair
. "$dir/env"
all_idle() { [ "$(timeout 5 sinfo -h -N -t idle -o %N | wc -l)" = 4 ]; }
wait_for 30 "idle nodes" all_idle

# The shell goes on after its program, so that it cannot become it.
resize_below script "bash -c '\"\$@\"; exit \$?' - $digits"
grep -q 'freezer:/slurm' "$folder/cgroup" || fail "the job is in no cgroup of Slurm's: $(cat "$folder/cgroup")"

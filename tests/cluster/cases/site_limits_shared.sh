# SPDX-License-Identifier: BSD-3-Clause
# A limit that several jobs share. A job that waits at the limit gets back what a malleable job under the same
# limit has borrowed, even if enough GPUs are free for both. No job is asked in vain or grows meanwhile.
. "$here/site.sh"
site_up
# A new slurmctld starts jobs before the nodes register. Their steps then fail: "Invalid generic resource".
registered() { ! timeout 10 scontrol show node | grep -q SlurmdStartTime=None; }
waits_at() { timeout 10 squeue -h -j "$1" -o %r | grep -q "$2"; }
end_all() {
    timeout 10 scancel "$@"
    wait_for 60 "end of all jobs" no_jobs
}
borrows() { # USER NAME OPTIONS...: a malleable job of that user runs with 4
    local user=$1 name=$2
    shift 2
    user_job "$user" "$name" --malleable=1:4 "$@" -- 100000 100
    wait_for 60 "run of $user's job with 4" runs_with "$job" 4
}
gives_to() { # JOB WHY: it waits at that limit, gets back what it needs, and keeps it
    wait_for 20 "$2" waits_at "$1" "$2"
    wait_for 60 "start at $2" is_state "$1" RUNNING
    wait_for 60 "run with 2" runs_with "$job" 2
    check_steps
}

# GPUs of a QOS: 6 in all, alice has 4, bob wants 4.
borrows alice qos -q team
waiting=$(user_rigid bob 600 -q team --gpus=4 --nodes=1)
gives_to "$waiting" QOSGrpGRES
# bob's second job would not fit even if alice returned all that she borrowed: her job is left alone.
asked=$(count_events "$job" asked)
vain=$(user_rigid bob 600 -q team --gpus=2 --nodes=1)
sleep 6
is_state "$vain" PENDING || fail "the one that cannot start is $(state_of "$vain")"
[ "$(count_events "$job" asked)" = "$asked" ] || fail "alice's job was asked in vain"
runs_with "$job" 2 || fail "alice's job does not run with 2"
end_all "$job" "$waiting" "$vain"

# CPUs of an account, and a job without a GPU. alice's account has no limit: her job is left alone.
limit account chem set GrpTRES=cpu=5
borrows alice other
others=$job
borrows carol account
waiting=$(user_rigid dave 600 --ntasks=3)
gives_to "$waiting" AssocGrpCpuLimit
has_event "$others" asked && fail "alice's job was asked for the sake of another account"
end_all "$others" "$job" "$waiting"

# The partition's QOS, which no job requests: 4 GPUs.
limit account chem set GrpTRES=cpu=-1
sacctmgr -i add qos largest >>"$work/sacctmgr"
limit qos largest set GrpTRES=gres/gpu=4
wait_for 10 "QOS of the partition" scontrol update partitionname=large qos=largest
sleep 6 # partitions are listed every 5 s
borrows carol partition -p large
waiting=$(user_rigid bob 600 -p large --gpus=2 --nodes=1)
gives_to "$waiting" QOSGrpGRES
end_all "$job" "$waiting"

# Memory of a QOS, if Slurm allocates memory: of 500 MB alice has 400, bob wants 250.
sed -i 's/^SelectTypeParameters=.*/SelectTypeParameters=CR_CPU_Memory/' "$dir/slurm.conf"
echo DefMemPerCPU=1 >>"$dir/slurm.conf"
kill_slurmctld
start_slurmctld
wait_for 30 "registration of the nodes" registered
limit qos team set GrpTRES=gres/gpu=-1,mem=500
borrows alice memory -q team --gpus=1 --mem-per-gpu=100
waiting=$(user_rigid bob 600 -q team --gpus=1 --mem=250)
gives_to "$waiting" QOSGrpMem

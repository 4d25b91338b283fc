# SPDX-License-Identifier: BSD-3-Clause
# Burst buffers (burst_buffer/lua): a malleable job keeps its #BB_LUA directive over resizes. Slurm ends the buffer
# with each run and sets it up again for the next, as at a requeue by hand: so a resize stages twice, and the job
# restarts only after that, with the size that it was given.
user=nobody
stages=$work/stages
mkdir "$stages" && chmod 777 "$stages"
cat >"$work/burst_buffer.lua" <<END
local function note(what, id)
    local file = io.open("$stages/log", "a")
    file:write(what .. " " .. id .. "\n")
    file:close()
    return slurm.SUCCESS, ""
end
function slurm_bb_job_process() return slurm.SUCCESS end
function slurm_bb_pools() return slurm.SUCCESS end
function slurm_bb_setup(id) return note("setup", id) end
function slurm_bb_data_in(id) os.execute("sleep 2") return note("in", id) end
function slurm_bb_test_data_in() return slurm.SUCCESS, "" end
function slurm_bb_real_size() return slurm.SUCCESS end
function slurm_bb_paths() return slurm.SUCCESS end
function slurm_bb_pre_run() return slurm.SUCCESS, "" end
function slurm_bb_post_run() return slurm.SUCCESS, "" end
function slurm_bb_data_out(id) return note("out", id) end
function slurm_bb_test_data_out() return slurm.SUCCESS, "" end
function slurm_bb_job_teardown(id) return note("teardown", id) end
function slurm_bb_get_status() return slurm.SUCCESS, "" end
END
echo Directive=BB_LUA >"$work/burst_buffer.conf"
second_cluster --nodes 2 \
    --file "$work/burst_buffer.lua" --file "$work/burst_buffer.conf" --conf BurstBufferType=burst_buffer/lua
staged() { [ "$(grep -c "^in $job\$" "$stages/log")" = "$1" ]; }

{ head -n 1 "$plain_job" && echo '#BB_LUA stage the data' && tail -n +2 "$plain_job"; } >"$work/job.sh"
chmod 755 "$work/job.sh"
plain_job=$work/job.sh
start_job buffered --malleable=1:8 -- 100000 100
wait_for 60 "run with 8 GPUs after its staging" runs_with "$job" 8
wait_for 20 "ten steps" has_steps 10
before=$(grep -c "^in $job\$" "$stages/log")
guest=$(rigid 4 600 -N1)
wait_for 60 "start of a rigid job" is_state "$guest" RUNNING
wait_for 60 "run with 4 GPUs" runs_with "$job" 4
staged $((before + 1)) || fail "one resize staged again $(($(grep -c "^in $job\$" "$stages/log") - before)) times: $(tr '\n' ',' <"$stages/log")"
timeout 10 scontrol -o show job "$job" | grep -q 'BurstBuffer=#BB_LUA stage the data' || fail "the directive is gone"
scancel "$guest"
wait_for 90 "growth to 8 GPUs" runs_with "$job" 8
check_steps
scancel "$job"
wait_for 30 "end of the job" is_state "$job" CANCELLED
is_torn_down() { [ "$(grep -c "^teardown $job\$" "$stages/log")" = "$(grep -c "^setup $job\$" "$stages/log")" ]; }
wait_for 30 "end of its last buffer" is_torn_down

// SPDX-License-Identifier: BSD-3-Clause
// What a job handle (ringrt_job.h) refuses, at all ranks and without a wait for one.
#include <cmath>

#include "libringrt/ringrt_job.h"
#include "tests/multiproc/checkpoint_ranks.h"

using namespace ringrt::test;

namespace {

std::string expect(const ringrt_job_t *job, ringrt_status_t got, ringrt_status_t expected,
                   const std::string &in_line = "") {
    const std::string line = ringrt_job_last_error(job);
    if (got != expected)
        return std::string(ringrt_status_string(got)) + " instead of " +
               ringrt_status_string(expected) + ": " + line;
    if (got == RINGRT_OK || line.find(in_line) != line.npos) return "";
    return "\"" + line + "\" without \"" + in_line + "\"";
}

const ringrt_job_t *const kNone = nullptr;

ringrt_job_config_t batch_of(uint32_t samples) {
    ringrt_job_config_t config = RINGRT_JOB_CONFIG_INIT;
    config.global_batch = samples;
    return config;
}

// Runs `body` with a job handle on every rank.
void on_jobs(int size, const std::function<std::string(ringrt_job_t *, ringrt_comm_t *)> &body) {
    on_comms({size, 1}, [&](ringrt_comm_t *comm) -> std::string {
        const ringrt_job_config_t config = batch_of(10);
        ringrt_job_t *job = nullptr;
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, nullptr, &config), RINGRT_OK));
        TRY_TEXT(body(job, comm));
        return expect(kNone, ringrt_job_close(job), RINGRT_OK);
    });
}

}  // namespace

// A resize would end the tasks that have no rank in it.
TEST(a_part_of_the_jobs_tasks_is_refused) {
    on_comms({3, 1}, [](ringrt_comm_t *comm) -> std::string {
        const int rank = ringrt_comm_rank(comm);
        setenv("SLURM_JOB_ID", "7", 1);
        setenv("SLURM_STEP_ID", "0", 1);
        setenv("SLURM_STEP_NUM_TASKS", "3", 1);
        setenv("SLURM_PROCID", std::to_string(rank).c_str(), 1);
        ringrt_comm_t *part = nullptr;
        TRY_TEXT(expect(comm, ringrt_comm_split(comm, rank == 1, rank, &part), RINGRT_OK));
        ringrt_job_t *job = nullptr;
        const std::string ranks = rank == 1 ? "1" : "2";
        TRY_TEXT(expect(job, ringrt_job_open(&job, part, nullptr, nullptr), RINGRT_INVALID_ARGUMENT,
                        "the communicator has " + ranks + " ranks and the job step 3 tasks"));
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, nullptr, nullptr), RINGRT_OK));
        TRY_TEXT(expect(kNone, ringrt_job_close(job), RINGRT_OK));
        return expect(comm, ringrt_comm_destroy(part), RINGRT_OK);
    });
}

// The others learn it from the communicator, by what the one calls instead.
TEST(a_handle_at_only_some_ranks_is_refused) {
    for (const int other : {0, 1, 2})
        on_comms({3, 1}, [other](ringrt_comm_t *comm) -> std::string {
            ringrt_job_t *job = nullptr;
            if (ringrt_comm_rank(comm) == other)
                return ringrt_comm_barrier(comm, nullptr) == RINGRT_OK ? "a barrier alone" : "";
            const ringrt_status_t got = ringrt_job_open(&job, comm, nullptr, nullptr);
            if (got == RINGRT_PEER_LOST) return "";  // one that has seen it has left already
            return expect(job, got, RINGRT_MISMATCH, "");
        });
}

TEST(ranks_that_configure_differently_are_refused) {
    TemporaryDirectory directory;
    on_comms({3, 1}, [&](ringrt_comm_t *comm) -> std::string {
        const bool is_other = ringrt_comm_rank(comm) == 2;
        ringrt_job_t *job = nullptr;
        ringrt_job_config_t config = batch_of(is_other ? 9 : 10);
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, nullptr, &config), RINGRT_MISMATCH,
                        "rank 2 configured another batch than rank 0"));
        config.global_batch = 10;
        config.steps_total = config.samples_total = is_other ? 5 : 0;
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, nullptr, &config), RINGRT_INVALID_ARGUMENT,
                        "config.samples_total and config.steps_total"));  // on all ranks
        config.samples_total = config.steps_total = 0;
        ringrt_checkpoint_config_t saves = RINGRT_CHECKPOINT_CONFIG_INIT;
        saves.directory = directory.path.c_str();
        ringrt_checkpoint_t *all = nullptr, *part = nullptr;
        TRY_TEXT(expect(all, ringrt_checkpoint_open(&all, comm, &saves), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, is_other ? nullptr : all, &config),
                        RINGRT_MISMATCH, "rank 2 has no checkpoint handle, unlike rank 0"));
        ringrt_comm_t *half = nullptr;
        TRY_TEXT(expect(comm, ringrt_comm_split(comm, is_other, 0, &half), RINGRT_OK));
        TRY_TEXT(expect(part, ringrt_checkpoint_open(&part, half, &saves), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, part, &config), RINGRT_INVALID_ARGUMENT,
                        "the checkpoint handle has other ranks"));
        setenv("RINGRT_LIVE_RESIZE", is_other ? "1" : "0", 1);
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, all, &config), RINGRT_UNSUPPORTED,
                        "this one cannot be resized in place"));
        unsetenv("RINGRT_LIVE_RESIZE");
        config.live_resize = is_other ? 1 : 0;
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, all, &config), RINGRT_MISMATCH,
                        "rank 2 has live_resize=1, unlike rank 0"));
        config.live_resize = 0;
        // After all of that the communicator and the handle still work.
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, all, &config), RINGRT_OK));
        TRY_TEXT(expect(all, ringrt_checkpoint_close(all), RINGRT_INVALID_ARGUMENT,
                        "ringrt_job_close() comes first"));
        TRY_TEXT(expect(kNone, ringrt_job_close(job), RINGRT_OK));
        TRY_TEXT(expect(all, ringrt_checkpoint_save(all, 1), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, all, &config), RINGRT_INVALID_ARGUMENT,
                        "open the job before that"));
        for (ringrt_checkpoint_t *each : {all, part})
            TRY_TEXT(expect(static_cast<ringrt_checkpoint_t *>(nullptr),
                            ringrt_checkpoint_close(each), RINGRT_OK));
        return expect(comm, ringrt_comm_destroy(half), RINGRT_OK);
    });
}

TEST(a_job_that_is_resized_in_place_has_whole_tensors_from_the_first_step) {
    const TemporaryDirectory directory;
    on_comms({2, 1}, [&](ringrt_comm_t *comm) -> std::string {
        double value = 0;
        const auto rank = static_cast<uint64_t>(ringrt_comm_rank(comm));
        const uint64_t shape[] = {2}, offset[] = {rank}, extent[] = {1};
        ringrt_checkpoint_config_t saves = RINGRT_CHECKPOINT_CONFIG_INIT;
        saves.directory = directory.path.c_str();
        ringrt_checkpoint_t *all = nullptr;
        ringrt_job_t *job = nullptr;
        ringrt_job_config_t config = batch_of(10);
        auto block = [&] {
            return ringrt_checkpoint_register_block(all, "b", &value, RINGRT_FLOAT64, 1, shape,
                                                    offset, extent);
        };
        for (const bool is_live : {false, true}) {
            config.live_resize = 1;
            TRY_TEXT(expect(all, ringrt_checkpoint_open(&all, comm, &saves), RINGRT_OK));
            if (!is_live) {
                TRY_TEXT(expect(all, block(), RINGRT_OK));
                TRY_TEXT(expect(job, ringrt_job_open(&job, comm, all, &config), RINGRT_UNSUPPORTED,
                                "blocks of tensors cannot be resized in place"));
                config.live_resize = 0;
            }
            TRY_TEXT(expect(job, ringrt_job_open(&job, comm, all, &config), RINGRT_OK));
            int root = 0;
            uint64_t step = 0;
            ringrt_comm_t *none = nullptr;
            ringrt_action_t action = RINGRT_LEAVE;
            if (is_live) TRY_TEXT(expect(all, block(), RINGRT_UNSUPPORTED, "a block of a tensor"));
            TRY_TEXT(expect(job, ringrt_job_step(job, 1, &action), RINGRT_OK));
            if (is_live)
                TRY_TEXT(expect(
                    all,
                    ringrt_checkpoint_register(all, "late", &value, RINGRT_FLOAT64, 0, nullptr),
                    RINGRT_UNSUPPORTED, "register tensors before the first step"));
            TRY_TEXT(expect(job, ringrt_job_resize(job, &none, &step, &root),
                            is_live ? RINGRT_PEER_LOST : RINGRT_INVALID_ARGUMENT,
                            is_live ? "a rank of the base is lost" : "live_resize was not set"));
            TRY_TEXT(expect(kNone, ringrt_job_close(job), RINGRT_OK));
            TRY_TEXT(expect(static_cast<ringrt_checkpoint_t *>(nullptr),
                            ringrt_checkpoint_close(all), RINGRT_OK));
        }
        return "";
    });
}

TEST(calls_in_another_order_are_refused) {
    on_jobs(2, [](ringrt_job_t *job, ringrt_comm_t *) -> std::string {
        ringrt_action_t action = RINGRT_LEAVE;
        TRY_TEXT(expect(job, ringrt_job_step(job, 1, &action), RINGRT_OK));
        if (action != RINGRT_CONTINUE) return "action";
        raise(SIGURG);
        TRY_TEXT(expect(job, ringrt_job_step(job, 2, &action), RINGRT_OK));
        if (action != RINGRT_SAVE) return "not asked to save";
        TRY_TEXT(expect(job, ringrt_job_step(job, 3, &action), RINGRT_INVALID_ARGUMENT,
                        "call ringrt_job_saved() first"));
        TRY_TEXT(expect(job, ringrt_job_saved(job, RINGRT_OK, nullptr), RINGRT_INVALID_ARGUMENT,
                        "action is NULL"));
        // Outside Slurm nothing is requeued.
        TRY_TEXT(expect(job, ringrt_job_saved(job, RINGRT_OK, &action), RINGRT_OK));
        if (action != RINGRT_CONTINUE) return "left";
        // A save of the program's own choice.
        TRY_TEXT(expect(job, ringrt_job_step(job, 3, &action), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_saved(job, RINGRT_OK, &action), RINGRT_OK));
        if (action != RINGRT_CONTINUE) return "left";
        const pid_t child = fork();
        if (child == 0)
            _exit(ringrt_job_step(job, 4, &action) == RINGRT_FORKED &&
                          ringrt_job_close(job) == RINGRT_FORKED
                      ? 0
                      : 1);
        int status = 1;
        waitpid(child, &status, 0);
        return status == 0 ? "" : "in the child";
    });
}

TEST(saves_in_two_parts_in_another_order_are_refused) {
    on_jobs(2, [](ringrt_job_t *job, ringrt_comm_t *comm) -> std::string {
        ringrt_action_t action = RINGRT_LEAVE;
        // A save of the program's own choice, in which a resize comes.
        TRY_TEXT(expect(job, ringrt_job_step(job, 1, &action), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_saving(job, RINGRT_OK), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_saving(job, RINGRT_OK), RINGRT_INVALID_ARGUMENT,
                        "ringrt_job_saving() was called before"));
        TRY_TEXT(expect(job, ringrt_job_step(job, 2, &action), RINGRT_OK));
        if (action != RINGRT_CONTINUE) return "it ends before it is written";
        raise(SIGURG);
        TRY_TEXT(expect(job, ringrt_job_step(job, 3, &action), RINGRT_OK));
        if (action != RINGRT_SAVE_END) return "not asked to end the save";
        TRY_TEXT(expect(job, ringrt_job_step(job, 4, &action), RINGRT_INVALID_ARGUMENT,
                        "the last action was RINGRT_SAVE_END: call ringrt_job_saved() first"));
        TRY_TEXT(expect(job, ringrt_job_saving(job, RINGRT_OK), RINGRT_INVALID_ARGUMENT,
                        "the last action was RINGRT_SAVE_END"));
        TRY_TEXT(expect(job, ringrt_job_saved(job, RINGRT_OK, &action), RINGRT_OK));
        if (action != RINGRT_SAVE) return "not asked for another save";
        TRY_TEXT(expect(job, ringrt_job_step(job, 4, &action), RINGRT_INVALID_ARGUMENT,
                        "the last action was RINGRT_SAVE: call"));
        TRY_TEXT(expect(job, ringrt_job_saved(job, RINGRT_OK, &action), RINGRT_OK));
        if (action != RINGRT_CONTINUE) return "left";
        // A status after which no rank can continue is that of all.
        TRY_TEXT(expect(job, ringrt_job_step(job, 4, &action), RINGRT_OK));
        const ringrt_status_t begun = ringrt_comm_rank(comm) == 1 ? RINGRT_SUPERSEDED : RINGRT_OK;
        return expect(job, ringrt_job_saving(job, begun), RINGRT_SUPERSEDED, "rank 1");
    });
}

TEST(speeds_that_cannot_be_are_refused) {
    on_jobs(1, [](ringrt_job_t *job, ringrt_comm_t *) -> std::string {
        const std::vector<ringrt_speed_t> many(9, {1, 1});
        TRY_TEXT(expect(job, ringrt_job_set_planned_speeds(job, many.data(), many.size()),
                        RINGRT_INVALID_ARGUMENT, "at most 8 planned speeds"));
        for (const ringrt_speed_t wrong : {ringrt_speed_t{0, 1}, ringrt_speed_t{2, 0},
                                           ringrt_speed_t{2, NAN}, ringrt_speed_t{2, INFINITY}})
            TRY_TEXT(expect(job, ringrt_job_set_planned_speeds(job, &wrong, 1),
                            RINGRT_INVALID_ARGUMENT, "a planned speed has no GPUs or no time"));
        TRY_TEXT(expect(job, ringrt_job_set_planned_speeds(job, nullptr, 1),
                        RINGRT_INVALID_ARGUMENT, "speeds is NULL"));
        TRY_TEXT(expect(job, ringrt_job_set_planned_speeds(job, many.data(), 8), RINGRT_OK));
        return expect(job, ringrt_job_set_planned_speeds(job, nullptr, 0), RINGRT_OK);
    });
}

TEST(a_periodic_save_begins_and_is_reported) {
    TemporaryDirectory directory;
    on_comms({2, 1}, [&](ringrt_comm_t *comm) -> std::string {
        ringrt_checkpoint_config_t saves = RINGRT_CHECKPOINT_CONFIG_INIT;
        saves.directory = directory.path.c_str();
        ringrt_checkpoint_t *checkpoint = nullptr;
        TRY_TEXT(expect(checkpoint, ringrt_checkpoint_open(&checkpoint, comm, &saves), RINGRT_OK));
        ringrt_job_config_t config = batch_of(10);
        config.save_interval_s = 1;
        config.background_saves = ringrt_comm_rank(comm) == 1;
        ringrt_job_t *job = nullptr;
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, checkpoint, &config), RINGRT_MISMATCH,
                        "rank 1 has background_saves=1, unlike rank 0"));
        config.background_saves = 1;
        TRY_TEXT(expect(job, ringrt_job_open(&job, comm, checkpoint, &config), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_written(job), RINGRT_INVALID_ARGUMENT,
                        "the checkpoint handle knows what is written"));
        ringrt_action_t action = RINGRT_CONTINUE;
        uint64_t step = 0;
        while (action == RINGRT_CONTINUE)
            TRY_TEXT(expect(job, ringrt_job_step(job, ++step, &action), RINGRT_OK));
        if (action != RINGRT_SAVE_BEGIN) return "not asked to begin a save";
        TRY_TEXT(expect(job, ringrt_job_step(job, step + 1, &action), RINGRT_INVALID_ARGUMENT,
                        "the last action was RINGRT_SAVE_BEGIN: call ringrt_job_saving() first"));
        const ringrt_status_t begun = ringrt_checkpoint_save_begin(checkpoint, step);
        TRY_TEXT(expect(job, ringrt_job_saving(job, begun), RINGRT_OK));
        for (action = RINGRT_CONTINUE; action == RINGRT_CONTINUE;)
            TRY_TEXT(expect(job, ringrt_job_step(job, ++step, &action), RINGRT_OK));
        if (action != RINGRT_SAVE_END) return "not asked to end the save";
        TRY_TEXT(expect(job, ringrt_job_saved(job, ringrt_checkpoint_save_end(checkpoint), &action),
                        RINGRT_OK));
        if (action != RINGRT_CONTINUE) return "another action";
        // An abort within a save: the other rank's calls end.
        TRY_TEXT(expect(checkpoint, ringrt_checkpoint_save_begin(checkpoint, step), RINGRT_OK));
        if (ringrt_comm_rank(comm) == 1) {
            TRY_TEXT(expect(job, ringrt_job_abort(job), RINGRT_OK));
            TRY_TEXT(expect(job, ringrt_job_saving(job, RINGRT_OK), RINGRT_ABORTED));
        } else {
            TRY_TEXT(expect(job, ringrt_job_saving(job, RINGRT_OK), RINGRT_PEER_LOST, "rank 1"));
        }
        (void)ringrt_job_close(job);
        (void)ringrt_checkpoint_close(checkpoint);
        return "";
    });
}

TEST(progress_that_is_damaged_or_of_another_step_is_refused) {
    on_jobs(1, [](ringrt_job_t *job, ringrt_comm_t *) -> std::string {
        ringrt_action_t action;
        ringrt_batch_t batch;
        for (uint64_t step = 1; step <= 7; ++step)
            TRY_TEXT(expect(job, ringrt_job_step(job, step, &action), RINGRT_OK));
        const void *data = nullptr;
        size_t bytes = 0;
        TRY_TEXT(expect(job, ringrt_job_progress(job, &data, &bytes), RINGRT_OK));
        std::string text(static_cast<const char *>(data), bytes);
        TRY_TEXT(expect(job, ringrt_job_resumed(job, 6, text.data(), text.size()), RINGRT_MISMATCH,
                        "is at step"));
        for (size_t at = 0; at < text.size(); at += 7) {
            std::string damaged = text;
            damaged[at] = static_cast<char>(damaged[at] ^ 4);
            TRY_TEXT(expect(job, ringrt_job_resumed(job, 7, damaged.data(), damaged.size()),
                            RINGRT_CORRUPT));
        }
        TRY_TEXT(expect(job, ringrt_job_resumed(job, 7, nullptr, 5), RINGRT_INVALID_ARGUMENT));
        TRY_TEXT(expect(job, ringrt_job_resumed(job, 3, nullptr, 0), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_batch(job, &batch), RINGRT_OK));
        if (batch.samples_seen != 30) return "samples of 3 steps";
        TRY_TEXT(expect(job, ringrt_job_resumed(job, 7, text.data(), text.size()), RINGRT_OK));
        TRY_TEXT(expect(job, ringrt_job_batch(job, &batch), RINGRT_OK));
        return batch.samples_seen == 70 ? "" : "samples of 7 steps";
    });
}

TEST(an_abort_ends_the_peers_calls) {
    on_jobs(2, [](ringrt_job_t *job, ringrt_comm_t *comm) -> std::string {
        ringrt_action_t action;
        if (ringrt_comm_rank(comm) == 1) {
            TRY_TEXT(expect(job, ringrt_job_abort(job), RINGRT_OK));
            return expect(job, ringrt_job_step(job, 1, &action), RINGRT_ABORTED,
                          "ringrt_job_abort() was called");
        }
        return expect(job, ringrt_job_step(job, 1, &action), RINGRT_PEER_LOST, "rank 1");
    });
}

int main() { return ringrt::test::run_all("job_refusals"); }

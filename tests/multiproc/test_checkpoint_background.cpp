// SPDX-License-Identifier: BSD-3-Clause
// Saves in two calls, while the program changes its tensors, through the C API and with real
// processes.
#include <sys/resource.h>

#include <filesystem>
#include <random>

#include "tests/multiproc/checkpoint_ranks.h"

using namespace ringrt::test;

namespace {

std::string begin(const CheckpointRank &at, uint64_t step) {
    return expect(at.checkpoint, ringrt_checkpoint_save_begin(at.checkpoint, step), RINGRT_OK);
}

std::string end(const CheckpointRank &at, ringrt_status_t expected = RINGRT_OK,
                const std::string &in_line = "") {
    return expect(at.checkpoint, ringrt_checkpoint_save_end(at.checkpoint), expected, in_line);
}

std::string refuse(const CheckpointRank &at, ringrt_status_t got, const std::string &in_line) {
    return expect(at.checkpoint, got, RINGRT_INVALID_ARGUMENT, in_line);
}

}  // namespace

// A checkpoint holds the tensors as they were when its save began.
TEST(tensors_may_change_before_the_end) {
    TemporaryDirectory directory;
    uint64_t newest = 0;
    for (int size : {3, 1, 5, 2}) {
        on_checkpoints(size, directory.path, [&](const CheckpointRank &at) -> std::string {
            TestModel model(at, 5 + newest);
            TRY_TEXT(model.add_to(at.checkpoint));
            uint64_t step = 0;
            if (newest > 0) {
                TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step),
                                RINGRT_OK));
                TRY_TEXT(model.expect_step(newest));
            }
            for (step = newest + 1; step <= newest + 4; ++step) {
                model.fill(step);
                const std::string blob(static_cast<size_t>(at.rank) * 7 + step, 'b');
                TRY_TEXT(expect(
                    at.checkpoint,
                    ringrt_checkpoint_set_blob(at.checkpoint, "blob", blob.data(), blob.size()),
                    RINGRT_OK));
                TRY_TEXT(begin(at, step));
                model.fill(step + 100);
                TRY_TEXT(expect(at.checkpoint,
                                ringrt_checkpoint_set_blob(at.checkpoint, "blob", nullptr, 0),
                                RINGRT_OK));
                int written = 0;
                while (!written)
                    TRY_TEXT(expect(at.checkpoint,
                                    ringrt_checkpoint_save_written(at.checkpoint, &written),
                                    RINGRT_OK));
                TRY_TEXT(end(at));
            }
            return "";
        });
        newest += 4;
        on_checkpoints(2, directory.path, [&](const CheckpointRank &at) -> std::string {
            TRY_TEXT(restore_model(at, 90, newest));
            for (int rank = 0; rank < size; ++rank) {
                const void *data = nullptr;
                size_t bytes = 0;
                TRY_TEXT(
                    expect(at.checkpoint,
                           ringrt_checkpoint_get_blob(at.checkpoint, "blob", rank, &data, &bytes),
                           RINGRT_OK));
                if (bytes != static_cast<size_t>(rank) * 7 + newest)
                    return "a blob of " + std::to_string(bytes) + " bytes";
            }
            return "";
        });
    }
}

TEST(calls_out_of_order_are_refused) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 3);
        TRY_TEXT(model.add_to(at.checkpoint));
        int written = 7;
        uint64_t step = 0;
        TRY_TEXT(refuse(at, ringrt_checkpoint_save_end(at.checkpoint), "save_begin() first"));
        TRY_TEXT(refuse(at, ringrt_checkpoint_save_written(at.checkpoint, &written), "no save"));
        if (written != 7) return "a refused call has set its output";
        model.fill(1);
        TRY_TEXT(begin(at, 1));
        TRY_TEXT(refuse(at, ringrt_checkpoint_save_begin(at.checkpoint, 2), "save_end() first"));
        TRY_TEXT(refuse(at, ringrt_checkpoint_save(at.checkpoint, 2), "save_end() first"));
        TRY_TEXT(refuse(at, ringrt_checkpoint_restore(at.checkpoint, &step), "save_end() first"));
        TRY_TEXT(refuse(at, ringrt_checkpoint_save_written(at.checkpoint, nullptr), "NULL"));
        TRY_TEXT(end(at));
        TRY_TEXT(refuse(at, ringrt_checkpoint_save_end(at.checkpoint), "save_begin() first"));
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step), RINGRT_OK));
        return step == 1 ? "" : "another step";
    });
}

// The checkpoint of a save that was not ended is not there, nor anything of it.
TEST(a_close_gives_the_save_up) {
    TemporaryDirectory directory;
    on_checkpoints(3, directory.path,
                   [](const CheckpointRank &at) { return save_model(at, 4, 6); });
    on_checkpoints(3, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 9);
        TRY_TEXT(model.add_to(at.checkpoint));
        model.fill(7);
        return begin(at, 7);
    });
    on_checkpoints(2, directory.path,
                   [](const CheckpointRank &at) { return restore_model(at, 1, 6); });
    for (const auto &entry : std::filesystem::directory_iterator(directory.path))
        ck_assert_msg(!entry.is_directory() || entry.path().filename() == "step-000000000006", "%s",
                      entry.path().c_str());
}

TEST(a_full_disk_is_told_at_the_end) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 2);
        TRY_TEXT(model.add_to(at.checkpoint));
        model.fill(1);
        TRY_TEXT(begin(at, 1));
        TRY_TEXT(end(at));
        const rlimit before{RLIM_INFINITY, RLIM_INFINITY}, small{512, RLIM_INFINITY};
        if (at.rank == 1) setrlimit(RLIMIT_FSIZE, &small);
        model.fill(2);
        TRY_TEXT(begin(at, 2));
        TRY_TEXT(end(at, RINGRT_CHECKPOINT_FAILED, "File too large"));
        if (at.rank == 1) setrlimit(RLIMIT_FSIZE, &before);
        model.fill(3);
        TRY_TEXT(begin(at, 3));
        model.fill(4);
        return end(at);
    });
    on_checkpoints(1, directory.path,
                   [](const CheckpointRank &at) { return restore_model(at, 8, 3); });
}

// kill -9 of one rank at random moments: the others' calls end, and the next run gets one of the
// steps that were being saved, whole.
TEST(a_rank_killed_while_it_writes_leaves_a_whole_checkpoint) {
    TemporaryDirectory directory;
    std::mt19937_64 random(12);
    on_checkpoints(3, directory.path,
                   [](const CheckpointRank &at) { return save_model(at, 4, 1); });
    for (int round = 0; round < 10; ++round) {
        const int victim = static_cast<int>(random() % 3);
        const auto wait_us = static_cast<useconds_t>(random() % 60000);
        on_checkpoints(
            3, directory.path,
            [&](const CheckpointRank &at) -> std::string {
                TestModel model(at, uint64_t(round));
                TRY_TEXT(model.add_to(at.checkpoint));
                uint64_t step = 0;
                TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step),
                                RINGRT_OK));
                TRY_TEXT(model.expect_step(step));
                std::thread killer([&] {
                    usleep(wait_us);
                    if (at.rank == victim) kill(getpid(), SIGKILL);
                });
                killer.detach();
                ringrt_status_t status = RINGRT_OK;
                while (status == RINGRT_OK) {
                    model.fill(++step);
                    status = ringrt_checkpoint_save_begin(at.checkpoint, step);
                    model.fill(step + 1000);
                    if (status == RINGRT_OK) status = ringrt_checkpoint_save_end(at.checkpoint);
                }
                TRY_TEXT(expect(at.checkpoint, status, RINGRT_PEER_LOST, "rank"));
                _exit(0);
            },
            0, victim);
    }
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 3);
        TRY_TEXT(model.add_to(at.checkpoint));
        uint64_t step = 0;
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step), RINGRT_OK));
        if (step <= 1) return "no save was made";
        return model.expect_step(step);
    });
}

int main() { return ringrt::test::run_all("checkpoint_background"); }

// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints over a communicator, through the C API and with real processes.
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "tests/multiproc/checkpoint_ranks.h"

using namespace ringrt::test;

namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const std::string &directory) {
    std::vector<std::string> out;
    for (const auto &entry : fs::directory_iterator(directory))
        out.push_back(entry.path().filename());
    std::ranges::sort(out);
    return out;
}

void flip_a_byte(const std::string &path, off_t at) {
    const int fd = open(path.c_str(), O_RDWR);
    char byte = 0;
    ck_assert_msg(fd >= 0 && pread(fd, &byte, 1, at) == 1, "%s", path.c_str());
    byte = static_cast<char>(byte ^ 4);
    ck_assert(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}

}  // namespace

TEST(three_ranks_write_and_others_read) {
    for (int n : {3, 1, 5}) {
        TemporaryDirectory directory;
        on_checkpoints(n, directory.path, [](const CheckpointRank &at) {
            uint64_t step = 77;
            TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step),
                            RINGRT_NOT_FOUND, "no checkpoint in "));
            if (step != 77) return std::string("a failure changes the step");
            return save_model(at, 1, 42);
        });
        for (int m : {1, 2, 5, 3})
            on_checkpoints(m, directory.path, [m](const CheckpointRank &at) {
                return restore_model(at, 10 + uint64_t(m), 42);
            });
    }
}

// Each run has another size and cut, reads what the last one wrote, and writes.
TEST(a_chain_of_sizes_keeps_every_element) {
    TemporaryDirectory directory;
    uint64_t step = 0;
    for (int size : {2, 5, 1, 4, 3}) {
        on_checkpoints(size, directory.path, [&](const CheckpointRank &at) -> std::string {
            TestModel model(at, step);
            TRY_TEXT(model.add_to(at.checkpoint));
            uint64_t restored = 0;
            if (step > 0) {
                TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &restored),
                                RINGRT_OK));
                TRY_TEXT(model.expect_step(step));
            }
            if (restored != step) return "restored step " + std::to_string(restored);
            model.fill(step + 1);
            return expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, step + 1),
                          RINGRT_OK);
        });
        ++step;
    }
}

TEST(old_checkpoints_are_removed) {
    TemporaryDirectory directory;
    on_checkpoints(
        2, directory.path,
        [](const CheckpointRank &at) -> std::string {
            TestModel model(at, 3);
            TRY_TEXT(model.add_to(at.checkpoint));
            for (uint64_t step : {1, 2, 3, 4, 5}) {
                model.fill(step);
                TRY_TEXT(
                    expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, step), RINGRT_OK));
            }
            return "";
        },
        2);
    std::vector<std::string> steps = names_in(directory.path);
    std::erase_if(steps, [](const std::string &name) { return !name.starts_with("step-"); });
    ck_assert(steps == std::vector<std::string>({"step-000000000004", "step-000000000005"}));
}

TEST(damage_is_set_aside) {
    TemporaryDirectory directory;
    for (uint64_t step : {1, 2, 3})
        on_checkpoints(3, directory.path,
                       [&](const CheckpointRank &at) { return save_model(at, 5, step); });
    flip_a_byte(directory.path + "/step-000000000003/shard-00001", 100);
    on_checkpoints(2, directory.path,
                   [](const CheckpointRank &at) { return restore_model(at, 6, 2); });
    const auto names = names_in(directory.path);
    ck_assert(std::ranges::count(names, "step-000000000003.bad") == 1);
    flip_a_byte(directory.path + "/step-000000000002/manifest", 30);
    fs::remove(directory.path + "/step-000000000001/shard-00002");
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 6);
        TRY_TEXT(model.add_to(at.checkpoint));
        uint64_t step = 0;
        return expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step),
                      RINGRT_CORRUPT, "every checkpoint in ");
    });
}

TEST(ranks_that_disagree_save_nothing_and_continue) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        ringrt_checkpoint_t *const checkpoint = at.checkpoint;
        TestTensor grid("grid", {4, 6},
                        at.rank == 0 ? Block{{0, 0}, {4, 3}} : Block{{0, 2}, {4, 4}});
        TRY_TEXT(expect(checkpoint, grid.add_to(checkpoint), RINGRT_OK));
        return expect(checkpoint, ringrt_checkpoint_save(checkpoint, 1), RINGRT_MISMATCH,
                      "buffer grid: the blocks of ranks 0 and 1 overlap at [0, 2]");
    });
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        ringrt_checkpoint_t *const checkpoint = at.checkpoint;
        TestTensor both("both", {2});
        TRY_TEXT(expect(checkpoint, both.add_to(checkpoint), RINGRT_OK));
        TRY_TEXT(expect(checkpoint, ringrt_checkpoint_save(checkpoint, uint64_t(5 + at.rank)),
                        RINGRT_MISMATCH, "rank 1 is at step 6, rank 0 at step 5"));
        TestTensor other(at.rank ? "a" : "b", {2}), missing(at.rank ? "b" : "a", {2});
        TRY_TEXT(expect(checkpoint, other.add_to(checkpoint), RINGRT_OK));
        TRY_TEXT(expect(checkpoint, ringrt_checkpoint_save(checkpoint, 5), RINGRT_MISMATCH,
                        "rank 1 registered other buffers than rank 0"));
        TRY_TEXT(expect(checkpoint, missing.add_to(checkpoint), RINGRT_OK));
        return expect(checkpoint, ringrt_checkpoint_save(checkpoint, 5), RINGRT_OK);
    });
}

TEST(a_newer_run_supersedes) {
    TemporaryDirectory directory;
    on_comms({2, 1}, [&](ringrt_comm_t *comm) -> std::string {
        ringrt_checkpoint_config_t config = RINGRT_CHECKPOINT_CONFIG_INIT;
        config.directory = directory.path.c_str();
        ringrt_checkpoint_t *older = nullptr, *newer = nullptr;
        for (ringrt_checkpoint_t **each : {&older, &newer}) {
            TRY_TEXT(expect(*each, ringrt_checkpoint_open(each, comm, &config), RINGRT_OK));
            TRY_TEXT(expect(*each, ringrt_checkpoint_save(*each, 1), RINGRT_OK));
        }
        TRY_TEXT(
            expect(older, ringrt_checkpoint_save(older, 2), RINGRT_SUPERSEDED, "superseded by "));
        TRY_TEXT(expect(newer, ringrt_checkpoint_save(newer, 2), RINGRT_OK));
        for (ringrt_checkpoint_t *each : {older, newer})
            if (ringrt_checkpoint_close(each) != RINGRT_OK) return "close";
        return "";
    });
}

// The handle has its own connections, and catches no signal.
TEST(operations_of_the_communicator_do_not_interfere) {
    TemporaryDirectory directory;
    on_comms({3, 1}, [&](ringrt_comm_t *comm) -> std::string {
        const CheckpointRank at{nullptr, ringrt_comm_rank(comm), 3};
        ringrt_checkpoint_config_t config = RINGRT_CHECKPOINT_CONFIG_INIT;
        config.directory = directory.path.c_str();
        CheckpointRank opened = at;
        TRY_TEXT(expect(opened.checkpoint,
                        ringrt_checkpoint_open(&opened.checkpoint, comm, &config), RINGRT_OK));
        std::vector<float> x(100000, 1);
        ringrt_request_t *request = nullptr;
        if (at.rank > 0)  // in progress until rank 0 starts its own, after the save
            TRY_TEXT(expect(comm,
                            ringrt_comm_allreduce(x.data(), x.data(), x.size(), RINGRT_FLOAT32,
                                                  RINGRT_SUM, comm, &request),
                            RINGRT_OK));
        TRY_TEXT(save_model(opened, 4, 9));
        if (at.rank == 0)
            TRY_TEXT(expect(comm,
                            ringrt_comm_allreduce(x.data(), x.data(), x.size(), RINGRT_FLOAT32,
                                                  RINGRT_SUM, comm, &request),
                            RINGRT_OK));
        TRY_TEXT(expect(comm, ringrt_wait(request), RINGRT_OK));
        return ringrt_checkpoint_close(opened.checkpoint) == RINGRT_OK && x[0] == 3 ? "" : "sum";
    });
}

TEST(a_full_disk_keeps_the_old_checkpoint) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 2);
        TRY_TEXT(model.add_to(at.checkpoint));
        model.fill(1);
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 1), RINGRT_OK));
        const rlimit before{RLIM_INFINITY, RLIM_INFINITY}, small{512, RLIM_INFINITY};
        if (at.rank == 1) setrlimit(RLIMIT_FSIZE, &small);
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 2),
                        RINGRT_CHECKPOINT_FAILED, "File too large"));
        if (at.rank == 1) setrlimit(RLIMIT_FSIZE, &before);
        sigset_t blocked, pending;
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        sigpending(&pending);
        if (sigismember(&blocked, SIGXFSZ) || sigismember(&pending, SIGXFSZ)) return "signal mask";
        model.fill(3);
        return expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 3), RINGRT_OK);
    });
    on_checkpoints(1, directory.path,
                   [](const CheckpointRank &at) { return restore_model(at, 8, 3); });
}

// kill -9 of one rank at random moments: the next run gets one of the steps that were being saved,
// whole.
TEST(a_rank_killed_during_saves_leaves_a_whole_checkpoint) {
    TemporaryDirectory directory;
    std::mt19937_64 random(11);
    uint64_t newest = 0;
    for (int round = 0; round < 12; ++round) {
        const int victim = static_cast<int>(random() % 3);
        const auto wait_us = static_cast<useconds_t>(random() % 60000);
        const uint64_t first = newest + 1;
        on_checkpoints(
            3, directory.path,
            [&](const CheckpointRank &at) -> std::string {
                TestModel model(at, uint64_t(round));
                TRY_TEXT(model.add_to(at.checkpoint));
                std::thread killer([&] {
                    usleep(wait_us);
                    if (at.rank == victim) kill(getpid(), SIGKILL);
                });
                killer.detach();
                ringrt_status_t status = RINGRT_OK;
                for (uint64_t step = first; status == RINGRT_OK; ++step) {
                    model.fill(step);
                    status = ringrt_checkpoint_save(at.checkpoint, step);
                }
                TRY_TEXT(expect(at.checkpoint, status, RINGRT_PEER_LOST, "rank"));
                _exit(0);
            },
            0, victim);
        int read[2];
        ck_assert(pipe(read) == 0);
        on_checkpoints(2, directory.path, [&](const CheckpointRank &at) -> std::string {
            TestModel model(at, 100 + uint64_t(round));
            TRY_TEXT(model.add_to(at.checkpoint));
            uint64_t step = newest;
            const ringrt_status_t status = ringrt_checkpoint_restore(at.checkpoint, &step);
            if (newest > 0 || status != RINGRT_NOT_FOUND)
                TRY_TEXT(expect(at.checkpoint, status, RINGRT_OK));
            if (status == RINGRT_OK) TRY_TEXT(model.expect_step(step));
            if (at.rank == 0 && write(read[1], &step, sizeof step) != sizeof step) return "pipe";
            return "";
        });
        uint64_t step = 0;
        ck_assert(::read(read[0], &step, sizeof step) == sizeof step);
        ck_assert_uint_ge(step, newest);
        newest = step;
        close(read[0]);
        close(read[1]);
    }
    ck_assert_uint_gt(newest, 0);
    for (const std::string &name : names_in(directory.path))
        ck_assert_msg(!name.ends_with(".bad"), "%s", name.c_str());
}

TEST(arguments_are_checked) {
    TemporaryDirectory directory;
    on_checkpoints(1, directory.path, [](const CheckpointRank &at) -> std::string {
        ringrt_checkpoint_t *const c = at.checkpoint;
        double x[12] = {};
        const uint64_t shape[] = {3, 4}, zero[] = {0, 0}, far[] = {1, 0};
        const auto block = [&](int ndim, const uint64_t *offset, const uint64_t *extent) {
            return ringrt_checkpoint_register_block(c, "w", x, RINGRT_FLOAT64, ndim, shape, offset,
                                                    extent);
        };
        TRY_TEXT(expect(c, block(2, far, shape), RINGRT_INVALID_ARGUMENT,
                        "buffer w: the block is outside the shape"));
        TRY_TEXT(expect(c, block(2, nullptr, shape), RINGRT_INVALID_ARGUMENT, "is NULL"));
        TRY_TEXT(
            expect(c, block(0, zero, shape), RINGRT_INVALID_ARGUMENT, "a scalar has no blocks"));
        TRY_TEXT(expect(c, block(17, zero, shape), RINGRT_INVALID_ARGUMENT, "0 to 16 dimensions"));
        TRY_TEXT(expect(c, block(2, zero, shape), RINGRT_OK));
        TRY_TEXT(expect(c, block(2, zero, shape), RINGRT_INVALID_ARGUMENT, "registered already"));
        TRY_TEXT(expect(c, ringrt_checkpoint_register(c, "n", nullptr, RINGRT_INT8, 2, shape),
                        RINGRT_INVALID_ARGUMENT, "data is NULL"));
        TRY_TEXT(expect(c, ringrt_checkpoint_restore(c, nullptr), RINGRT_INVALID_ARGUMENT, "step"));
        TRY_TEXT(expect(static_cast<ringrt_checkpoint_t *>(nullptr),
                        ringrt_checkpoint_save(nullptr, 1), RINGRT_INVALID_ARGUMENT, "NULL"));
        const pid_t child = fork();
        if (child == 0)
            _exit(ringrt_checkpoint_save(c, 1) == RINGRT_FORKED &&
                          ringrt_checkpoint_close(c) == RINGRT_FORKED
                      ? 0
                      : 1);
        int status = 1;
        waitpid(child, &status, 0);
        return status == 0 ? "" : "in the child";
    });
    on_comms({2, 1}, [&](ringrt_comm_t *comm) -> std::string {
        ringrt_checkpoint_config_t config = RINGRT_CHECKPOINT_CONFIG_INIT;
        ringrt_checkpoint_t *c = nullptr;
        config.keep = ringrt_comm_rank(comm) == 1 ? 2000 : 0;
        TRY_TEXT(expect(c, ringrt_checkpoint_open(&c, comm, &config), RINGRT_INVALID_ARGUMENT,
                        "RINGRT_KEEP_CHECKPOINTS"));  // on both ranks
        config.keep = 0;
        const std::string path = directory.path + std::to_string(ringrt_comm_rank(comm));
        config.directory = path.c_str();
        return expect(c, ringrt_checkpoint_open(&c, comm, &config), RINGRT_MISMATCH,
                      "rank 1 has another checkpoint directory");
    });
}

TEST(an_abort_ends_the_peers_calls) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        if (at.rank == 1) {
            TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_abort(at.checkpoint), RINGRT_OK));
            TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 1), RINGRT_ABORTED,
                            "ringrt_checkpoint_abort() was called"));
            return "";
        }
        return expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 1), RINGRT_PEER_LOST,
                      "rank 1");
    });
}

int main() { return ringrt::test::run_all("checkpoint_handle"); }

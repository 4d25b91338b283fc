// SPDX-License-Identifier: BSD-3-Clause
// Saves and loads with crashes at any moment, and with disks that are broken, full or unreachable.
#include <algorithm>
#include <atomic>

#include "tests/support/checkpoint_model.h"

using namespace ringrt;
using namespace ringrt::test;

// F11: the machine or the process dies at any operation of a save. Unsynced data is lost, kept, or
// partly kept.
TEST(a_crash_at_any_operation_leaves_the_old_or_the_new) {
    auto before = with_steps({1000, 1100});
    MemoryFiles dry;
    dry.copy_from(*before);
    expect_ok(save_alone(dry, 1200, 1));
    const int64_t operations = dry.operations;
    ck_assert_int_gt(operations, 20);
    int old_ones = 0, new_ones = 0;
    std::mt19937_64 random(11);
    for (int64_t at = 0; at <= operations; ++at)
        for (int variant = 0; variant < 12; ++variant) {
            MemoryFiles files;
            files.copy_from(*before);
            files.fault = [at](int64_t number, const char *) -> int {
                if (number >= at) throw Crash();
                return 0;
            };
            bool returned = false;
            try {
                returned = save_alone(files, 1200, 1).ok();
            } catch (const Crash &) {
            }
            files.fault = nullptr;
            files.crash(variant == 0   ? MemoryFiles::Loss::nothing
                        : variant == 1 ? MemoryFiles::Loss::unsynced
                                       : MemoryFiles::Loss::random,
                        random);
            const uint64_t step = loaded_step(files, 2);
            ck_assert_msg(step == 1100 || step == 1200, "crash at %d: step %d", int(at), int(step));
            ck_assert_msg(!returned || step == 1200, "crash at %d: the save had returned", int(at));
            (step == 1200 ? new_ones : old_ones)++;
            expect_ok(save_alone(files, 1300, 3));
            ck_assert_uint_eq(loaded_step(files, 4), 1300);
        }
    ck_assert_int_gt(old_ones, 0);
    ck_assert_int_gt(new_ones, 0);
}

// F11 with several ranks, whose shards are written from copies while training continues: from some
// operation on nothing reaches the disk.
TEST(a_crash_of_four_ranks_in_a_background_save_leaves_the_old_or_the_new) {
    auto before = with_steps({1000, 1100});
    int old_ones = 0, new_ones = 0;
    std::mt19937_64 random(41);
    for (int64_t at = 0;; ++at) {
        MemoryFiles files;
        files.copy_from(*before);
        std::atomic<bool> cut = false;
        files.fault = [&](int64_t number, const char *) {
            if (number < at) return 0;
            cut = true;
            return EIO;
        };
        bool returned = true;
        run_ranks(4, [&](Group &group) {
            Store store(files, kDirectory, incarnation(1), 3);
            Saver saver(group, store, kSmall);
            Model model(group.rank(), 4);
            model.fill(1200);
            Status out = saver.start(model.buffers(), {.step = 1200}, SaveMode::in_background);
            model.fill(1201);
            if (out.ok()) out = saver.finish();
            ck_assert(!saver.under_way());
            if (group.rank() == 0) returned = out.ok();
        });
        files.fault = nullptr;
        files.crash(MemoryFiles::Loss::random, random);
        const uint64_t step = loaded_step(files, 2);
        ck_assert_msg(step == 1100 || step == 1200, "crash at %d: step %d", int(at), int(step));
        ck_assert_msg(!returned || step == 1200, "crash at %d: the save had returned", int(at));
        (step == 1200 ? new_ones : old_ones)++;
        if (!cut) break;
    }
    ck_assert_int_gt(old_ones, 20);
    ck_assert_int_gt(new_ones, 0);
}

// F12 with several ranks: one rank's disk fails, and all ranks are notified.
TEST(a_background_save_that_fails_on_one_rank_fails_on_all) {
    auto before = with_steps({1100});
    for (int error : {ENOSPC, EDQUOT, EIO})
        for (int64_t nth = 1; nth <= 8; ++nth) {
            MemoryFiles files;
            files.copy_from(*before);
            int64_t writes = 0;
            files.fault = [&](int64_t, const char *name) {
                return std::string(name) == "write" && ++writes == nth ? error : 0;
            };
            std::atomic<int> failed = 0;
            run_ranks(4, [&](Group &group) {
                Store store(files, kDirectory, incarnation(1), 3);
                Model model(group.rank(), 4);
                model.fill(1200);
                Status out = save_with(group, store, model, 1200, SaveMode::in_background);
                ck_assert_int_eq(out.code, RINGRT_CHECKPOINT_FAILED);
                ++failed;
                expect_ok(save_with(group, store, model, 1200, SaveMode::in_background));
            });
            ck_assert_int_eq(failed, 4);
            ck_assert_uint_eq(loaded_step(files, 2), 1200);
        }
}

// A rank without memory for the copy writes at once. The others wait for it inside the save, where
// they have time for it, and not in the next call.
TEST(all_wait_for_a_rank_that_writes_at_once) {
    if (kTimeoutScale > 1) return;  // a sanitizer ends a process that asks for this much memory
    constexpr uint64_t kRows = uint64_t{1} << 59;  // more than any machine can copy
    MemoryFiles files;
    files.free_space = INT64_MAX;
    static thread_local bool writes_at_once = false;
    std::atomic<bool> wrote = false;
    files.fault = [&](int64_t, const char *name) {
        if (!writes_at_once || std::string(name) != "open_new") return 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        wrote = true;
        return EIO;
    };
    run_ranks(2, [&](Group &group) {
        Store store(files, kDirectory, incarnation(1), 3);
        Saver saver(group, store, {.piece_bytes = kRows, .writer_bytes = 64});
        writes_at_once = group.rank() == 1;
        std::byte row{};
        Buffer rows{.parameter = {.name = "x", .dtype = RINGRT_UINT8, .shape = {kRows + 1}},
                    .data = &row};
        hold_block(rows, group.rank() == 1 ? Block{{1}, {kRows}} : Block{{0}, {1}});
        expect_ok(saver.start({rows}, {.step = 1}, SaveMode::in_background));
        ck_assert(wrote);
        ck_assert_int_eq(saver.finish().code, RINGRT_CHECKPOINT_FAILED);
    });
}

TEST(a_crash_at_any_operation_of_a_load_harms_nothing) {
    auto before = with_steps({1000, 1100});
    before->data(std::string(kDirectory) + "/step-000000001100/shard-00000")[5] ^= std::byte{1};
    std::mt19937_64 random(5);
    for (int64_t at = 0;; ++at) {
        MemoryFiles files;
        files.copy_from(*before);
        files.fault = [at](int64_t number, const char *name) -> int {
            if (number >= at && std::string(name) != "close") throw Crash();  // destructors close
            return 0;
        };
        bool crashed = false;
        try {
            ck_assert_uint_eq(loaded_step(files), 1000);
        } catch (const Crash &) {
            crashed = true;
        }
        files.fault = nullptr;
        files.crash(MemoryFiles::Loss::random, random);
        ck_assert_uint_eq(loaded_step(files, 2), 1000);
        if (!crashed) break;
    }
}

// F12: every operation fails once, with every error. Training continues and the next save works.
TEST(an_error_at_any_operation_costs_one_save_at_most) {
    auto before = with_steps({1000, 1100});
    for (int error : {ENOSPC, EDQUOT, EIO, EACCES}) {
        for (int64_t at = 0;; ++at) {
            MemoryFiles files;
            files.copy_from(*before);
            std::string failed;
            files.fault = [&](int64_t number, const char *name) {
                if (number == at) failed = name;
                return number == at ? error : 0;
            };
            Status out = save_alone(files, 1200, 1);
            files.fault = nullptr;
            if (failed.empty()) break;
            ck_assert_msg(out.ok() || out.code == RINGRT_CHECKPOINT_FAILED, "%s at %d: %d %s",
                          failed.c_str(), int(at), out.code, out.message.c_str());
            if (!out.ok() && error == ENOSPC && failed == "write")
                ck_assert_msg(contains(out.message, "checkpoint failed: no space left"), "%s",
                              out.message.c_str());
            MemoryFiles copy;
            copy.copy_from(files);
            const uint64_t step = loaded_step(copy, 2);
            ck_assert_msg(step == 1200 || (step == 1100 && !out.ok()), "%s at %d: step %d",
                          failed.c_str(), int(at), int(step));
            expect_ok(save_alone(files, 1201, 1));
            ck_assert_uint_eq(loaded_step(files, 3), 1201);
        }
    }
}

TEST(a_disk_that_fails_forever_costs_only_the_new_checkpoint) {
    auto before = with_steps({1000, 1100});
    for (const char *broken : {"open_new", "write", "sync_data", "close", "sync_directory",
                               "rename", "make_directory"}) {
        MemoryFiles files;
        files.copy_from(*before);
        files.fault = [&](int64_t, const char *name) {
            return std::string(name) == broken ? EIO : 0;
        };
        Status out = save_alone(files, 1200, 1);
        ck_assert_msg(out.code == RINGRT_CHECKPOINT_FAILED, "%s: %s", broken, out.message.c_str());
        files.fault = nullptr;
        uint64_t step = loaded_step(files, 2);
        ck_assert_msg(step == 1100 || step == 1200, "%s: %d", broken, int(step));
    }
}

TEST(short_and_interrupted_writes_and_reads_are_continued) {
    MemoryFiles files;
    files.write_max = 7;
    files.fault = [](int64_t number, const char *name) {
        bool transfers = std::string(name) == "write" || std::string(name) == "read";
        return transfers && number % 3 == 0 ? EINTR : 0;
    };
    expect_ok(save_alone(files, 3));
    ck_assert_uint_eq(loaded_step(files), 3);
}

TEST(a_full_disk_is_seen_before_anything_is_written) {
    auto files = with_steps({1100});
    files->free_space = 1000;
    int64_t writes = 0;
    files->fault = [&](int64_t, const char *name) {
        return writes += std::string(name) == "make_directory", 0;
    };
    Status out = save_alone(*files, 1200);
    ck_assert_int_eq(out.code, RINGRT_CHECKPOINT_FAILED);
    ck_assert_msg(
        contains(
            out.message,
            "checkpoint failed: no space left (needs 1.0 MiB, has 1000 B): free some in /run/ckpt"),
        "%s", out.message.c_str());
    ck_assert_int_eq(writes, 1);  // the checkpoint directory's own write, no .tmp-
    ck_assert_uint_eq(loaded_step(*files), 1100);
}

const Pauses kNoPauses = {0, 0, 0};

Status load_with_retries(MemoryFiles &files, uint64_t &step, uint32_t restart) {
    Status out;
    run_ranks(1, [&](Group &group) {
        Store store(files, kDirectory, incarnation(restart), 3);
        Model model(0, 1);
        Manifest manifest;
        out = load(group, store, model.buffers(), manifest, kNoPauses);
        step = manifest.step;
        if (out.ok()) ck_assert(model.is(step));
    });
    return out;
}

// A file system that has lost its server returns EIO for every operation, for a moment or forever.
// That is not damage: nothing is set aside, and no older checkpoint is taken instead.
TEST(an_unreadable_checkpoint_does_not_count_as_damaged) {
    auto before = with_steps({1000, 1100});
    int loaded = 0, refused = 0;
    for (int error : {EIO, ESTALE, EACCES})
        for (int64_t lasts : {1, 2, 1 << 20})
            for (int64_t at = 0;; ++at) {
                MemoryFiles files;
                files.copy_from(*before);
                bool failed = false;
                files.fault = [&](int64_t number, const char *) {
                    const bool now = number >= at && number < at + lasts;
                    failed |= now;
                    return now ? error : 0;
                };
                uint64_t step = 0;
                const Status out = load_with_retries(files, step, 1);
                ck_assert_msg(out.ok() ? step == 1100 : out.code == RINGRT_SYSTEM_ERROR,
                              "error %d at %d: %d (%s), step %d", error, int(at), out.code,
                              out.message.c_str(), int(step));
                ++(out.ok() ? loaded : refused);
                files.fault = nullptr;
                ck_assert(!files.find(std::string(kDirectory) + "/step-000000001100.bad"));
                ck_assert_uint_eq(loaded_step(files, 2), 1100);
                if (!failed) break;
            }
    ck_assert_int_gt(loaded, 50);
    ck_assert_int_gt(refused, 50);
}

// One node sees another directory, or does not yet see what the others see. Rank 0 reads
// everything.
TEST(a_checkpoint_that_one_node_cannot_see_is_kept) {
    for (int looks_until_seen : {0, 1, 3, 1000}) {
        auto files = with_steps({1000, 1100});
        MemoryFiles elsewhere;
        elsewhere.copy_from(*files);
        std::atomic<int> looks = 0;
        elsewhere.fault = [&](int64_t, const char *name) {
            if (std::string(name) != "open_read") return 0;
            return looks++ < looks_until_seen ? ENOENT : 0;
        };
        Status out[2];
        run_ranks(2, [&](Group &group) {
            const auto rank = static_cast<size_t>(group.rank());
            Store store(rank == 0 ? *files : elsewhere, kDirectory, incarnation(1), 3);
            Model model(group.rank(), 2);
            Manifest manifest;
            out[rank] = load(group, store, model.buffers(), manifest, kNoPauses);
            if (out[rank].ok()) ck_assert(manifest.step == 1100 && model.is(1100));
        });
        const bool is_seen = looks_until_seen <= 3;
        for (const Status &each : out) {
            ck_assert_int_eq(each.code, is_seen ? RINGRT_OK : RINGRT_SYSTEM_ERROR);
            if (!is_seen)
                ck_assert_msg(
                    contains(each.message,
                             "cannot load /run/ckpt/step-000000001100: "
                             "rank 1 on ") &&
                        contains(each.message, "shard-00000: missing, but rank 0 can read it"),
                    "%s", each.message.c_str());
        }
        ck_assert_uint_eq(loaded_step(*files, 2), 1100);
    }
}

int main() { return ringrt::test::run_all("checkpoint_faults"); }

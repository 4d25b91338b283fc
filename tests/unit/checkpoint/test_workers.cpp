// SPDX-License-Identifier: BSD-3-Clause
// Threads that share the jobs of a batch, and loads whose pieces they read.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <new>
#include <set>

#include "libringrt/base/workers.h"
#include "libringrt/checkpoint/hash.h"
#include "libringrt/checkpoint/shard.h"
#include "tests/support/checkpoint_model.h"
#include "tests/support/device_model.h"
#include "tests/support/scarce.h"

using namespace ringrt;
using namespace ringrt::test;
using namespace std::chrono_literals;

namespace {

Status failure(size_t number) {
    return {RINGRT_SYSTEM_ERROR, "job " + std::to_string(number) + " failed"};
}

// Waits until several threads wait here at once. If there is only one, it gives up after 20 s.
class Meeting {
  public:
    void arrive() {
        std::unique_lock lock(mutex_);
        if (++waiting_ > 1) met_ = true;
        changed_.notify_all();
        if (!given_up_) given_up_ = !changed_.wait_for(lock, 20s, [this] { return met_; });
        --waiting_;
    }
    [[nodiscard]] bool met() const { return met_; }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int waiting_ = 0;
    bool met_ = false, given_up_ = false;
};

Status load_at(Group &group, Files &files, DeviceModel &model, const Pauses &pauses_s = {}) {
    Store store(files, kDirectory, incarnation(1), 3);
    Manifest manifest;
    return load(group, store, model.buffers, manifest, pauses_s);
}

void save_to(Files &files, uint64_t step) {
    run_ranks(1, [&](Group &group) {
        DeviceModel model(0, 1, Where::host);
        model.fill(step);
        Store store(files, kDirectory, incarnation(0), 3);
        Saver saver(group, store, kSmall);
        expect_ok(saver.start(model.buffers, {.step = step}, SaveMode::inline_write));
        expect_ok(saver.finish());
    });
}

}  // namespace

TEST(each_job_runs_once) {
    for (const size_t threads : {1, 2, 5})
        for (const size_t count : {0, 1, 2, 3, 100}) {
            std::vector<std::atomic<int>> ran(count);
            std::atomic<bool> numbered = true;
            Workers workers(threads, [&](size_t i, size_t thread) -> Status {
                ++ran[i];
                if (thread >= threads) numbered = false;
                return {};
            });
            workers.allow(count);
            expect_ok(workers.finish(count));
            for (const std::atomic<int> &times : ran) ck_assert_int_eq(times, 1);
            ck_assert(numbered);
        }
}

TEST(jobs_run_at_the_same_time) {
    Meeting meeting;
    Workers workers(2, [&](size_t, size_t) -> Status {
        meeting.arrive();
        return {};
    });
    workers.allow(2);
    expect_ok(workers.finish(2));
    ck_assert(meeting.met());
}

// None begins before it is allowed, and all below the limit are over when the caller has waited.
TEST(jobs_begin_and_end_within_their_limits) {
    constexpr size_t kJobs = 3000, kEach = 10;
    std::atomic<size_t> limit = 0;
    std::atomic<bool> too_early = false;
    std::vector<std::atomic<bool>> over(kJobs);
    Workers workers(4, [&](size_t i, size_t) -> Status {
        if (i >= limit) too_early = true;
        if (i % kEach == kEach - 1) std::this_thread::sleep_for(100us);  // the last one of some
        over[i] = true;
        return {};
    });
    for (size_t end = kEach; end <= kJobs; end += kEach) {
        workers.allow(limit = std::min(end + kEach, kJobs));
        workers.share(end - kEach / 2);
        expect_ok(workers.finish(end));
        for (size_t i = end - kEach; i < end; ++i) ck_assert(over[i]);
    }
    ck_assert(!too_early);
}

// Whichever fails first.
TEST(the_lowest_failure_is_reported) {
    for (const bool throws : {false, true})
        for (int round = 0; round < 200; ++round) {
            Workers workers(4, [&](size_t i, size_t) -> Status {
                if (i == 7 && throws) throw std::bad_alloc();
                return i >= 7 ? failure(i) : Status{};
            });
            workers.allow(50);
            bool thrown = false;
            Status out;
            try {
                out = workers.finish(5 + static_cast<size_t>(round) % 10);
                if (out.ok()) out = workers.finish(50);
            } catch (const std::bad_alloc &) {
                thrown = true;
            }
            ck_assert(thrown == throws);
            if (!throws) EXPECT_TEXT(out.message, "job 7 failed");
        }
}

// Job 2 fails before job 1. The caller waits for neither of them in particular.
TEST(a_lower_job_that_fails_later_is_reported) {
    std::atomic<bool> second = false;
    Workers workers(3, [&](size_t i, size_t) -> Status {
        if (i == 0) return {};
        if (i == 2) second = true;
        while (!second) std::this_thread::yield();
        if (i == 1) std::this_thread::sleep_for(20ms);
        return failure(i);
    });
    workers.allow(3);
    while (!second) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);
    EXPECT_TEXT(workers.finish(0).message, "job 1 failed");
}

TEST(after_a_failure_no_more_begin) {
    for (const size_t threads : {1, 3}) {
        std::atomic<int> ran = 0;
        Workers workers(threads, [&](size_t i, size_t) {
            ++ran;
            if (i > 3) std::this_thread::sleep_for(1ms);
            return i == 3 ? failure(i) : Status{};
        });
        workers.allow(500);
        EXPECT_TEXT(workers.finish(500).message, "job 3 failed");
        workers.share(500);
        const int then = ran;
        ck_assert_int_le(then, threads == 1 ? 4 : 499);
        std::this_thread::sleep_for(20ms);
        ck_assert_int_eq(ran, then);
    }
}

// The destructor waits for a job that uses what the caller is about to free.
TEST(jobs_can_be_given_up) {
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> begun = 0, over = 0;
        {
            Workers workers(3, [&](size_t, size_t) -> Status {
                ++begun;
                std::this_thread::sleep_for(1ms);
                ++over;
                return {};
            });
            workers.allow(1000);
            while (begun == 0) std::this_thread::yield();
        }
        ck_assert_int_eq(begun, over);
        ck_assert_int_lt(begun, 1000);
    }
}

TEST(without_threads_the_caller_runs_all) {
    make_scarce(threads);
    int ran = 0;
    Workers workers(4, [&](size_t i, size_t thread) -> Status {
        ran += i == static_cast<size_t>(ran) && thread == 0;
        return {};
    });
    workers.allow(9);
    workers.share(4);
    ck_assert_int_eq(ran, 4);
    expect_ok(workers.finish(9));
    ck_assert_int_eq(ran, 9);
}

TEST(a_rank_with_one_core_has_two_threads) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    const size_t before = worker_threads();
    ck_assert_uint_ge(before, 2);
    ck_assert_uint_le(before, 4);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_uint_eq(worker_threads(), 2);
}

// ---- loads --------------------------------------------------------------------------------------

TEST(a_load_to_a_device_reads_several_pieces_at_a_time) {
    MemoryFiles files;
    save_to(files, 1200);
    Meeting meeting;
    files.before_read = [&](size_t bytes) {
        if (bytes == kSmall.piece_bytes) meeting.arrive();
    };
    run_ranks(1, [&](Group &group) {
        DeviceModel model(0, 1, Where::device);
        expect_ok(load_at(group, files, model));
        EXPECT_TEXT(model.differs(1200), "");
    });
    ck_assert(meeting.met());
}

// Each read of the load fails once, in each way. Without one of the pieces, and the table, the load
// ends with one line. (It does without LATEST.)
TEST(a_read_that_fails_ends_a_load_to_a_device) {
    MemoryFiles files;
    save_to(files, 1200);
    int64_t reads = 0;
    files.fault = [&](int64_t, const char *name) {
        return reads += std::string(name) == "read", 0;
    };
    run_ranks(1, [&](Group &group) {
        DeviceModel model(0, 1, Where::device);
        expect_ok(load_at(group, files, model));
    });
    const int64_t all = reads;
    int failed = 0;
    for (int64_t nth = 1; nth <= all; ++nth)
        for (const bool no_memory : {false, true}) {
            int64_t at = 0;
            files.fault = [&](int64_t, const char *name) {
                if (std::string(name) != "read" || ++at != nth) return 0;
                if (no_memory) throw std::bad_alloc();
                return EIO;
            };
            bool thrown = false;
            run_ranks(1, [&](Group &group) {
                DeviceModel model(0, 1, Where::device);
                Status out;
                try {
                    out = load_at(group, files, model);
                } catch (const std::bad_alloc &) {
                    thrown = true;
                }
                ck_assert_uint_eq(model.device.pinned, 0);
                if (no_memory) return;
                if (out.ok()) {
                    EXPECT_TEXT(model.differs(1200), "");
                    return;
                }
                ++failed;
                ck_assert_int_eq(out.code, RINGRT_SYSTEM_ERROR);
                ck_assert_msg(contains(out.message, strerror(EIO)), "%s", out.message.c_str());
                ck_assert_msg(out.message.find('\n') == out.message.npos, "%s",
                              out.message.c_str());
            });
            ck_assert(thrown == no_memory);
        }
    ck_assert_int_gt(failed, 50);
    ck_assert_int_gt(failed + 4, all);
}

// Another thread's failure ends the load while copies run, and pieces are read.
TEST(a_lost_rank_ends_a_load_to_a_device) {
    MemoryFiles files;
    save_to(files, 1200);
    run_ranks(1, [&](Group &group) {
        DeviceModel model(0, 1, Where::device);
        model.device.hangs = true;
        model.watched = {RINGRT_PEER_LOST, "rank 0: rank 1 is lost"};
        const Status out = load_at(group, files, model, {3600});
        ck_assert_int_eq(out.code, RINGRT_SYSTEM_ERROR);
        ck_assert_msg(contains(out.message, "rank 1 is lost, during the copy of buffer a"), "%s",
                      out.message.c_str());
        ck_assert_uint_eq(model.device.pinned, kStagingBytes);  // a copy may still read it
    });
}

// The file becomes shorter, or is damaged, after it was opened.
TEST(a_shard_that_changes_during_a_load_is_damaged) {
    for (const bool shorter : {false, true}) {
        MemoryFiles files;
        save_to(files, 1100);
        save_to(files, 1200);
        std::vector<std::byte> &shard =
            files.data(std::string(kDirectory) + "/step-000000001200/shard-00000");
        std::atomic<bool> changed = false;
        int64_t pieces = 0;
        files.fault = [&](int64_t, const char *name) {
            if (std::string(name) != "read" || ++pieces != 20) return 0;
            changed = true;
            if (shorter) shard.resize(kSmall.piece_bytes);
            for (std::byte &each : shard) each ^= std::byte{1};
            return 0;
        };
        run_ranks(1, [&](Group &group) {
            DeviceModel model(0, 1, Where::device);
            Store store(files, kDirectory, incarnation(1), 3);
            Manifest manifest;
            expect_ok(load(group, store, model.buffers, manifest, {}));
            ck_assert_uint_eq(manifest.step, 1100);
            EXPECT_TEXT(model.differs(1100), "");
        });
        ck_assert(changed);
    }
}

// Two threads would write to the same bytes. No library writes such a shard.
TEST(a_shard_whose_pieces_overlap_is_damaged) {
    for (const uint64_t second : {7, 8}) {
        const std::vector<TableRow> table = {{.parameter = 1, .offset = second, .bytes = 8},
                                             {.parameter = 0, .offset = 4, .bytes = 8},
                                             {.parameter = 1, .offset = 0, .bytes = 8}};
        const auto bytes = std::as_bytes(std::span(table));
        MemoryFiles files;
        files.put("shard",
                  std::string(24, 'x') +
                      std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
        ShardReader reader(files);
        const Status out = reader.open(
            "shard", {.rank = 0, .data_bytes = 24, .pieces = 3, .table_hash = hash64(bytes)}, 2);
        ck_assert_int_eq(out.code, second == 7 ? RINGRT_CORRUPT : RINGRT_OK);
        if (second == 7) EXPECT_TEXT(out.message, "shard: its table is not right");
    }
}

TEST(a_load_without_threads_reads_all) {
    MemoryFiles files;
    save_to(files, 1200);
    make_scarce(threads);
    DeviceModel model(0, 1, Where::mixed);
    Bootstrap alone(1);
    ThreadGroup group(alone, 0);
    expect_ok(load_at(group, files, model));
    EXPECT_TEXT(model.differs(1200), "");
}

int main() { return run_all("workers", 120); }

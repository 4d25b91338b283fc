// SPDX-License-Identifier: BSD-3-Clause
// Two incarnations of a job use one directory: an old one that is still alive, and a new one (F17).
#include <algorithm>
#include <atomic>
#include <semaphore>
#include <thread>

#include "tests/support/checkpoint_model.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

// Runs other code just before the operation numbered `at`.
class Hooked final : public Files {
  public:
    Hooked(MemoryFiles &under, std::function<void()> hook, int64_t at)
        : under_(under), hook_(std::move(hook)), at_(at) {}
    int open_new(const std::string &path) override { return tick().open_new(path); }
    int open_read(const std::string &path) override { return tick().open_read(path); }
    int64_t write(int fd, std::span<const std::byte> bytes) override {
        return tick().write(fd, bytes);
    }
    int64_t read_at(int fd, std::span<std::byte> bytes, uint64_t offset) override {
        return tick().read_at(fd, bytes, offset);
    }
    int64_t size(int fd) override { return under_.size(fd); }
    int start_writeback(int, uint64_t, uint64_t) override { return 0; }
    int sync_data(int fd) override { return tick().sync_data(fd); }
    int close(int fd) override { return tick().close(fd); }
    int make_directory(const std::string &path) override { return tick().make_directory(path); }
    int sync_directory(const std::string &path) override { return tick().sync_directory(path); }
    int rename(const std::string &from, const std::string &to) override {
        return tick().rename(from, to);
    }
    int remove(const std::string &path) override { return tick().remove(path); }
    int remove_directory(const std::string &path) override { return tick().remove_directory(path); }
    int list(const std::string &path, std::vector<std::string> &names) override {
        return tick().list(path, names);
    }
    int64_t free_bytes(const std::string &path) override { return under_.free_bytes(path); }

  private:
    MemoryFiles &tick() {
        if (number_++ == at_) hook_();
        return under_;
    }
    MemoryFiles &under_;
    std::function<void()> hook_;
    const int64_t at_;
    std::atomic<int64_t> number_ = 0;  // several threads read
};

}  // namespace

// F17: at every operation of an old incarnation's save, the new one starts and reads. From then on
// the old one commits nothing.
TEST(an_old_incarnation_never_commits_after_a_new_one_looked) {
    int stopped = 0, before_it = 0;
    for (int64_t at = 0;; ++at) {
        auto files = with_steps({1100});
        uint64_t seen = 0;
        bool during = false;
        Hooked old_files(
            *files,
            [&] {
                during = true;
                seen = loaded_step(*files, 2);
            },
            at);
        Status out = save_alone(old_files, 1200, 1);
        if (!during) break;
        ck_assert_msg(
            out.ok() || out.code == RINGRT_SUPERSEDED || out.code == RINGRT_CHECKPOINT_FAILED,
            "at %d: %s", int(at), out.message.c_str());
        if (out.code == RINGRT_SUPERSEDED) {
            ++stopped;
            ck_assert_msg(contains(out.message, "superseded by restart 2"), "%s",
                          out.message.c_str());
        }
        if (out.ok()) {
            ++before_it;
            ck_assert_msg(seen == 1200, "at %d: committed after the new one read step %d", int(at),
                          int(seen));
        }
        ck_assert_uint_eq(loaded_step(*files, 3), seen);  // nothing was committed afterwards
    }
    ck_assert_int_gt(stopped, 10);
    ck_assert_int_gt(before_it, 0);
}

// The reverse: the old incarnation is paused before one of its operations while the new one claims
// the directory, and continues in the middle of that. Every named checkpoint is complete.
TEST(an_old_incarnation_may_go_on_at_any_operation_of_a_claim) {
    int before_it = 0, after_it = 0;
    for (int64_t pause = 0;; ++pause) {
        bool ended_without_pause = false;
        for (int64_t at = 0; !ended_without_pause; ++at) {
            auto files = with_steps({1100});
            std::binary_semaphore stands(0), goes_on(0);
            bool paused = false;
            Hooked old_files(
                *files, [&] { paused = true, stands.release(), goes_on.acquire(); }, pause);
            Status saved;
            std::thread old([&] {
                saved = save_alone(old_files, 1200, 1);
                if (!paused) stands.release();
            });
            stands.acquire();
            bool met = false;
            const auto meet = [&] {
                met = true;
                if (paused) goes_on.release();
                old.join();
            };
            Hooked new_files(*files, meet, at);
            uint64_t seen = 0;
            if (paused) seen = loaded_step(new_files, 2);
            const bool in_the_middle = met;
            if (!met) meet();
            ended_without_pause = !paused || !in_the_middle;
            if (!paused) break;
            ck_assert_msg(!saved.ok() || seen == 1200,
                          "pause %d, at %d: committed, but %d was read", int(pause), int(at),
                          int(seen));
            ck_assert_uint_eq(loaded_step(*files, 3), seen);
            const std::string directory = std::string(kDirectory) + "/step-000000001200";
            for (const char *file : {"/shard-00000", "/manifest"})  // no checkpoint is partial
                ck_assert(!files->find(directory) || files->find(directory + file));
            ++(seen == 1200 ? before_it : after_it);
            if (!in_the_middle) break;
        }
        // The whole save ran without a pause: nothing is left to try.
        MemoryFiles dry;
        dry.copy_from(*with_steps({1100}));
        bool reached = false;
        Hooked counted(
            dry, [&] { reached = true; }, pause);
        expect_ok(save_alone(counted, 1200, 1));
        if (!reached) break;
    }
    ck_assert_int_gt(before_it, 10);
    ck_assert_int_gt(after_it, 100);
}

// An old incarnation that hung in a load does not reset LATEST when it continues.
TEST(an_old_load_does_not_rename_what_a_new_one_saved) {
    int during = 0;
    for (int64_t at = 0;; ++at) {
        auto files = with_steps({1100});
        bool met = false;
        Hooked old_files(
            *files,
            [&] {
                met = true;
                ck_assert_uint_eq(loaded_step(*files, 2), 1100);
                expect_ok(save_alone(*files, 1300, 2));
            },
            at);
        uint64_t step = 0;
        (void)load_alone(old_files, step, 1);
        if (!met) break;
        ++during;
        ck_assert_uint_eq(loaded_step(*files, 3), 1300);
    }
    ck_assert_int_gt(during, 10);
}

TEST(a_new_incarnation_is_not_undone_by_an_older_start) {
    auto files = with_steps({1100});
    ck_assert_uint_eq(loaded_step(*files, 3), 1100);
    uint64_t step = 0;
    Status out = load_alone(*files, step, 2);
    ck_assert_int_eq(out.code, RINGRT_SUPERSEDED);
    EXPECT_TEXT(out.message,
                "superseded by restart 3: this run must not write checkpoints, and ends");
}

int main() { return ringrt::test::run_all("checkpoint_incarnations"); }

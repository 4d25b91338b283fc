// SPDX-License-Identifier: BSD-3-Clause
// A save runs out of memory at each of its allocations. A committed checkpoint is complete, and
// earlier ones stay.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/checkpoint_model.h"
#include "tests/support/ranks.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr int64_t kNever = -1;
std::atomic<int64_t> allocations_left{kNever};  // after these, one fails

bool fails_now() { return allocations_left.load() != kNever && allocations_left.fetch_sub(1) == 0; }

}  // namespace

// Not inlined: gcc would treat free() as the wrong counterpart of new.
[[gnu::noinline]] void *operator new(size_t bytes) {
    void *memory = fails_now() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

// Acts like a program that continues after NO_MEMORY. Returns whether the failure occurred.
bool save_without_memory(Group &group, Files &files, const std::string &directory, SaveMode mode,
                         int64_t allocation, bool &committed) {
    Store store(files, directory, incarnation(1), 3);
    Model model(0, 1);
    model.fill(1200);
    Saver saver(group, store, kSmall);
    const Meta meta{.step = 1200, .speeds = {{1, 520.5}}};
    allocations_left = allocation;
    Status out;
    try {
        out = saver.start(model.buffers(), meta, mode);
    } catch (const std::bad_alloc &) {
        out.code = RINGRT_NO_MEMORY;
    }
    model.fill(1201);
    if (saver.under_way()) try {
            const Status finished = saver.finish();
            if (out.ok()) out.code = finished.code;
        } catch (const std::bad_alloc &) {
            out.code = RINGRT_NO_MEMORY;
        }
    const bool happened = allocations_left.exchange(kNever) < 0;
    committed = out.ok();
    return happened;
}

void try_each_allocation(SaveMode mode) {
    int whole = 0, failed = 0;
    bool happened = true;
    for (int64_t allocation = 0; happened; ++allocation) {
        TemporaryDirectory directory;
        Files &files = real_files();
        expect_ok(save_alone(files, 1100, 0, directory.path));
        bool committed = false;
        run_ranks(1, [&](Group &group) {
            happened =
                save_without_memory(group, files, directory.path, mode, allocation, committed);
        });
        const uint64_t step = loaded_step(files, 2, directory.path);
        ck_assert_msg(step == 1200 || (step == 1100 && !committed), "allocation %d: step %d",
                      int(allocation), int(step));
        std::vector<std::string> names;
        ck_assert_int_eq(files.list(directory.path, names), 0);
        for (const std::string &name : names)
            ck_assert_msg(!contains(name, ".bad"), "allocation %d: committed in part",
                          int(allocation));
        (committed ? whole : failed)++;
    }
    ck_assert_int_gt(failed, 10);
    ck_assert_int_gt(whole, 0);
}

}  // namespace

TEST(no_memory_commits_nothing_incomplete) { try_each_allocation(SaveMode::inline_write); }

TEST(no_memory_in_a_background_save_commits_nothing_incomplete) {
    try_each_allocation(SaveMode::in_background);
}

int main() { return ringrt::test::run_all("checkpoint_memory"); }

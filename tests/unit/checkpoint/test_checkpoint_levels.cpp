// SPDX-License-Identifier: BSD-3-Clause
// Two checkpoint levels: crashes at any moment between them, lost nodes, damaged disks.
#include <algorithm>
#include <atomic>

#include "libringrt/checkpoint/local_level.h"
#include "tests/support/checkpoint_model.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr int kRanks = 4;

// Ranks 0 and 1 on one node, 2 and 3 on another; `nodes` moves them.
struct Place {
    int nodes[2] = {0, 1};
    std::string directory(int rank) const { return "/nvme" + std::to_string(nodes[rank / 2]); }
};

// The parameters that all ranks hold completely.
std::vector<Buffer> whole(const Model &model) {
    return {model.buffers().begin(), model.buffers().begin() + 2};
}

bool holds(const Model &model, uint64_t step) {
    Model other(0, 1);
    other.fill(step);
    for (size_t i = 0; i < 2; ++i) {
        const Buffer &a = model.buffers()[i], &b = other.buffers()[i];
        if (std::memcmp(a.data, b.data, a.bytes) != 0) return false;
    }
    return true;
}

struct Saved {
    bool local = false, shared = false;  // what the program was notified of
};

// One run of the job: saves at `step` on the nodes, then on the shared level if requested.
Saved save_run(MemoryFiles &files, const Place &place, uint64_t step, uint32_t restart,
               bool shared_too = true) {
    Saved saved;
    run_ranks(kRanks, [&](Group &group) {
        Store store(files, kDirectory, incarnation(restart), 3);
        Saver saver(group, store, kSmall);
        LocalLevel local(group, files, place.directory(group.rank()), "host", incarnation(restart),
                         kSmall);
        expect_ok(local.join());
        Model model(group.rank(), kRanks);
        model.fill(step);
        const Status on_nodes = local.save(whole(model), {.step = step});
        Status above{RINGRT_CHECKPOINT_FAILED, "not asked for"};
        if (shared_too) {
            above = saver.start(whole(model), {.step = step}, SaveMode::in_background);
            if (above.ok()) above = saver.finish();
        }
        if (group.rank() == 0) saved = {on_nodes.ok(), above.ok()};
    });
    return saved;
}

// The step from which a new run continues; 0: none. The content belongs to that step on every rank.
uint64_t load_run(MemoryFiles &files, const Place &place, uint32_t restart) {
    uint64_t step = 0;
    run_ranks(kRanks, [&](Group &group) {
        Store store(files, kDirectory, incarnation(restart), 3);
        LocalLevel local(group, files, place.directory(group.rank()), "host", incarnation(restart),
                         kSmall);
        expect_ok(local.join());
        Model model(group.rank(), kRanks);
        Manifest manifest;
        const Status loaded = load_newest(group, &local, store, whole(model), manifest);
        if (loaded.code == RINGRT_NOT_FOUND) return;
        expect_ok(loaded);
        ck_assert_msg(holds(model, manifest.step), "not what step %d was", int(manifest.step));
        if (group.rank() == 0) step = manifest.step;
    });
    return step;
}

// Saves on the shared level only, as before a resize.
Status save_alone_whole(MemoryFiles &files, uint64_t step, uint32_t restart) {
    Status out;
    run_ranks(1, [&](Group &group) {
        Store store(files, kDirectory, incarnation(restart), 3);
        Saver saver(group, store, kSmall);
        Model model(0, 1);
        model.fill(step);
        out = saver.start(whole(model), {.step = step}, SaveMode::inline_write);
        if (out.ok()) out = saver.finish();
    });
    return out;
}

void lose(MemoryFiles &files, const std::string &directory) {
    std::vector<std::string> names;
    if (files.list(directory, names) < 0) return;
    for (const std::string &name : names)
        if (files.remove(directory + "/" + name) < 0)
            remove_flat_directory(files, directory + "/" + name);
}

}  // namespace

TEST(the_newest_of_both_levels_is_loaded) {
    MemoryFiles files;
    const Place place;
    ck_assert_uint_eq(load_run(files, place, 1), 0);
    const Saved both = save_run(files, place, 100, 1);
    ck_assert(both.local && both.shared);
    ck_assert(save_run(files, place, 150, 1, false).local);
    ck_assert_uint_eq(load_run(files, place, 2), 150);
    ck_assert(save_run(files, place, 200, 2).shared);
    ck_assert_uint_eq(load_run(files, place, 3), 200);
}

// A new node, or one with an empty disk, has none: all ranks continue from the shared level.
TEST(a_lost_node_falls_back_to_the_shared_level) {
    const Place place, moved{.nodes = {0, 2}};
    for (int lost = 0; lost < 3; ++lost) {
        MemoryFiles files;
        save_run(files, place, 100, 1);
        save_run(files, place, 150, 1, false);
        if (lost < 2) lose(files, "/nvme" + std::to_string(lost));
        ck_assert_uint_eq(load_run(files, lost < 2 ? place : moved, 2), 100);
        ck_assert(save_run(files, place, 160, 2, false).local);
        ck_assert_uint_eq(load_run(files, place, 3), 160);
    }
}

// Nodes that hold the same step of two different runs hold two different states.
TEST(nodes_of_different_runs_are_not_mixed) {
    MemoryFiles files;
    save_run(files, {.nodes = {0, 1}}, 100, 1);
    save_run(files, {.nodes = {0, 1}}, 150, 1, false);
    save_run(files, {.nodes = {2, 3}}, 150, 2, false);
    ck_assert_uint_eq(load_run(files, {.nodes = {0, 3}}, 3), 100);
}

TEST(damage_on_a_node_falls_back_to_the_shared_level) {
    std::mt19937_64 random(3);
    int fell_back = 0;
    for (int trial = 0; trial < 60; ++trial) {
        MemoryFiles files;
        save_run(files, {}, 100, 1);
        save_run(files, {}, 150, 1, false);
        std::vector<std::string> paths;
        for (const char *node : {"/nvme0", "/nvme1"})
            for (const std::string &path : files.files_under(node))
                if (path.find("step-") != path.npos && !files.data(path).empty())
                    paths.push_back(path);
        ck_assert_int_gt(static_cast<int>(paths.size()), 3);
        std::vector<std::byte> &data = files.data(paths[random() % paths.size()]);
        data[random() % data.size()] ^= std::byte{4};
        const uint64_t step = load_run(files, {}, 2);
        ck_assert_uint_eq(step, 100);
        ++fell_back;
        ck_assert_uint_eq(load_run(files, {}, 3), 100);
    }
    ck_assert_int_eq(fell_back, 60);
}

// The shared level's newest checkpoint is damaged, and the next one there is older than the nodes'.
TEST(the_nodes_stand_in_for_a_damaged_shared_checkpoint) {
    MemoryFiles files;
    save_run(files, {}, 100, 1);
    save_run(files, {}, 150, 1);
    files.data(std::string(kDirectory) + "/step-000000000150/shard-00000")[40] ^= std::byte{1};
    ck_assert_uint_eq(load_run(files, {}, 2), 150);
}

// From some operation on nothing reaches any disk. Then comes a crash, with one node or none lost.
// A save that was reported is there, and no load gives a mix of two steps.
TEST(a_crash_at_any_operation_between_the_levels) {
    std::mt19937_64 random(17);
    int steps[3] = {};
    for (int lost = -1; lost < 2; ++lost)
        for (int64_t at = 0;; ++at) {
            MemoryFiles files;
            save_run(files, {}, 100, 1);
            std::atomic<bool> cut = false;
            const int64_t before = files.operations;
            files.fault = [&](int64_t number, const char *) {
                if (number < before + at) return 0;
                cut = true;
                return EIO;
            };
            const Saved saved = save_run(files, {}, 200, 2);
            files.fault = nullptr;
            files.crash(MemoryFiles::Loss::random, random);
            if (lost >= 0) lose(files, "/nvme" + std::to_string(lost));
            const uint64_t step = load_run(files, {}, 3);
            ck_assert_msg(step == 100 || step == 200, "cut at %d: step %d", int(at), int(step));
            if (saved.shared || (saved.local && lost < 0))
                ck_assert_msg(step == 200, "cut at %d: a save had returned", int(at));
            ++steps[step / 100];
            if (!cut) break;
        }
    ck_assert_int_gt(steps[1], 20);
    ck_assert_int_gt(steps[2], 20);
}

// The shared level has the newest checkpoint and is unreadable, for a moment or forever: the nodes'
// older one is not used instead.
TEST(an_unreadable_shared_level_is_not_taken_for_an_empty_one) {
    int loaded = 0, refused = 0;
    for (int64_t lasts : {1, 4, 1 << 20})  // 4: all tries of the first read
        for (int64_t at = 0;; ++at) {
            MemoryFiles files;
            save_run(files, {}, 1200, 1);
            expect_ok(save_alone_whole(files, 1250, 1));
            std::atomic<bool> failed = false;
            const int64_t before = files.operations;
            files.fault = [&](int64_t number, const char *) {
                const bool now = number >= before + at && number < before + at + lasts;
                if (now) failed = true;
                return now ? EIO : 0;
            };
            run_ranks(kRanks, [&](Group &group) {
                Store store(files, kDirectory, incarnation(2), 3);
                LocalLevel local(group, files, Place().directory(group.rank()), "host",
                                 incarnation(2), kSmall);
                expect_ok(local.join());
                Model model(group.rank(), kRanks);
                Manifest manifest;
                const Status out =
                    load_newest(group, &local, store, whole(model), manifest, {0, 0, 0});
                ck_assert_msg(out.ok() ? manifest.step == 1250 : out.code == RINGRT_SYSTEM_ERROR,
                              "at %d: %d (%s), step %d", int(at), out.code, out.message.c_str(),
                              int(manifest.step));
                if (group.rank() == 0) ++(out.ok() ? loaded : refused);
            });
            files.fault = nullptr;
            if (!failed) break;
        }
    ck_assert_int_gt(loaded, 20);
    ck_assert_int_gt(refused, 5);
}

// One node's disk is full: that costs only this level, and all ranks are notified.
TEST(a_full_disk_on_one_node_is_reported_to_all) {
    MemoryFiles files;
    save_run(files, {}, 100, 1);
    std::atomic<int> told = 0;
    files.fault = [](int64_t, const char *name) {
        return std::string(name) == "write" ? ENOSPC : 0;
    };
    run_ranks(kRanks, [&](Group &group) {
        LocalLevel local(group, files, Place().directory(group.rank()), "host", incarnation(1),
                         kSmall);
        expect_ok(local.join());
        Model model(group.rank(), kRanks);
        model.fill(150);
        told += local.save(whole(model), {.step = 150}).code == RINGRT_CHECKPOINT_FAILED;
    });
    files.fault = nullptr;
    ck_assert_int_eq(told, kRanks);
    ck_assert_uint_eq(load_run(files, {}, 2), 100);
}

// If a rank has no such directory, the level does not exist. Rows across nodes are refused.
TEST(the_level_exists_for_all_or_for_none) {
    MemoryFiles files;
    run_ranks(kRanks, [&](Group &group) {
        LocalLevel none(group, files, group.rank() == 3 ? "" : "/nvme", "host", incarnation(1),
                        kSmall);
        expect_ok(none.join());
        ck_assert(!none.is_there());
        LocalLevel local(group, files, Place().directory(group.rank()), "host", incarnation(1),
                         kSmall);
        expect_ok(local.join());
        Model model(group.rank(), kRanks);
        model.fill(1);
        ck_assert_int_eq(local.save(model.buffers(), {.step = 1}).code, RINGRT_CHECKPOINT_FAILED);
        LocalLevel together(group, files, "/nvme9", "host", incarnation(1), kSmall);
        expect_ok(together.join());
        expect_ok(together.save(model.buffers(), {.step = 1}));
    });
}

int main() { return ringrt::test::run_all("checkpoint_levels"); }

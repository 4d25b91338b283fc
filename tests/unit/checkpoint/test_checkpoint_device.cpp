// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of buffers in the memory of a mock GPU that the host cannot touch. The files equal
// those from host memory, whatever the program's stream still has to do. If a copy fails, there is
// no checkpoint.
#include <algorithm>
#include <atomic>

#include "libringrt/checkpoint/local_level.h"
#include "tests/support/checkpoint_model.h"
#include "tests/support/device_model.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

bool eager = false;  // GPUs that run copies at once
bool roomy = false;  // GPUs with memory for a copy
constexpr size_t kRoom = 1 << 20;
std::atomic<int> copies_on_device = 0;

constexpr SaveMode kModes[] = {SaveMode::inline_write, SaveMode::in_background};

Status save_of(Group &group, Files &files, DeviceModel &model, uint64_t step, SaveMode mode,
               uint32_t restart = 0) {
    Store store(files, kDirectory, incarnation(restart), 3);
    Saver saver(group, store, kSmall);
    if (roomy) model.device.available = kRoom;
    const size_t before = model.device.allocations();
    Status out = saver.start(model.buffers, {.step = step}, mode);
    copies_on_device += model.device.allocations() > before;  // a rank may have nothing to write
    if (out.ok() && mode == SaveMode::in_background) model.fill(step + 1);  // training continues
    if (out.ok()) out = saver.finish();
    if (!model.device.hangs) ck_assert_uint_eq(model.device.allocations(), before);
    return out;
}

void save_at(int size, Files &files, Where where, uint64_t step, SaveMode mode,
             uint32_t restart = 0) {
    run_ranks(size, [&](Group &group) {
        DeviceModel model(group.rank(), size, where);
        model.device.eager = eager;
        model.fill(step);
        expect_ok(save_of(group, files, model, step, mode, restart));
        ck_assert_uint_eq(model.device.pinned, 0);
    });
}

void load_at(int size, Files &files, Where where, uint64_t step, uint32_t restart) {
    run_ranks(size, [&](Group &group) {
        DeviceModel model(group.rank(), size, where);
        model.device.eager = eager;
        Store store(files, kDirectory, incarnation(restart), 3);
        Manifest manifest;
        expect_ok(load(group, store, model.buffers, manifest, {}));
        ck_assert_uint_eq(manifest.step, step);
        EXPECT_TEXT(model.differs(step), "");
        ck_assert_uint_eq(model.device.pinned, 0);
    });
}

bool names_buffer(const std::string &line, int rank) {
    return line.find("rank " + std::to_string(rank) + ": GPU 0: ") != line.npos &&
           line.find(", during the copy of ") != line.npos;
}

// Each copy of rank 1 fails, at its start or when it runs. Returns how many there are.
int fail_each_copy(SaveMode mode, bool late) {
    for (int at = 0;; ++at) {
        MemoryFiles files;
        save_at(2, files, Where::host, 1100, SaveMode::inline_write);
        bool happened = false, saved = false;
        run_ranks(2, [&](Group &group) {
            DeviceModel model(group.rank(), 2, Where::device);
            model.fill(1200);
            if (group.rank() == 1) model.device.fails_at = at;
            model.device.fails_late = late;
            const Status out = save_of(group, files, model, 1200, mode);
            if (group.rank() == 1) happened = model.device.copies > at;
            if (!out.ok()) {
                ck_assert_int_eq(out.code, RINGRT_CHECKPOINT_FAILED);
                ck_assert_msg(names_buffer(out.message, 1), "%s", out.message.c_str());
            }
            ck_assert_uint_eq(model.device.pinned, 0);
            if (group.rank() == 0) saved = out.ok();
        });
        ck_assert(saved == !happened);
        load_at(2, files, Where::device, happened ? 1100 : 1200, 1);
        if (!happened) return at;
    }
}

void save_and_load_at_any_size() {
    for (int saved = 1; saved <= 3; ++saved)
        for (Where from : kWheres)
            for (SaveMode mode : kModes) {
                MemoryFiles files;
                save_at(saved, files, from, 1200, mode);
                uint32_t restart = 1;
                for (int loaded = 1; loaded <= 3; ++loaded)
                    for (Where to : kWheres) load_at(loaded, files, to, 1200, restart++);
            }
}

}  // namespace

TEST(host_and_device_load_each_others_checkpoints_at_any_size) { save_and_load_at_any_size(); }

TEST(no_staging_half_is_written_while_it_is_read) {
    eager = true;
    save_and_load_at_any_size();
}

TEST(a_gpu_with_room_holds_the_copy) {
    roomy = true;
    for (Where from : {Where::device, Where::mixed})
        for (int size = 1; size <= 3; ++size) {
            MemoryFiles files;
            copies_on_device = 0;
            save_at(size, files, from, 1200, SaveMode::in_background);
            ck_assert_int_gt(copies_on_device, 0);
            load_at(2, files, Where::host, 1200, 1);
        }
    for (bool late : {false, true})
        ck_assert_int_gt(fail_each_copy(SaveMode::in_background, late), 5);
}

TEST(the_files_equal_those_from_host_memory) {
    for (int size = 1; size <= 3; ++size)
        for (Where where : {Where::device, Where::mixed})
            for (SaveMode mode : kModes) {
                MemoryFiles host, other;
                save_at(size, host, Where::host, 1200, SaveMode::inline_write);
                save_at(size, other, where, 1200, mode);
                int shards = 0;
                for (const std::string &file : host.files_under(kDirectory)) {
                    if (file.find("/shard-") == file.npos) continue;
                    ck_assert_msg(host.data(file) == other.data(file), "%s", file.c_str());
                    ++shards;
                }
                ck_assert_int_eq(shards, size);
            }
}

TEST(a_save_holds_what_the_stream_had_yet_to_write) {
    for (SaveMode mode : kModes) {
        MemoryFiles files;
        run_ranks(2, [&](Group &group) {
            DeviceModel model(group.rank(), 2, Where::device);
            model.fill(1199);
            model.fill_later(1200);
            expect_ok(save_of(group, files, model, 1200, mode));
        });
        load_at(2, files, Where::host, 1200, 1);
    }
}

TEST(a_load_waits_for_the_streams_earlier_work) {
    MemoryFiles files;
    save_at(2, files, Where::host, 1200, SaveMode::inline_write);
    run_ranks(2, [&](Group &group) {
        DeviceModel model(group.rank(), 2, Where::device);
        model.fill_later(7);
        Store store(files, kDirectory, incarnation(1), 3);
        Manifest manifest;
        expect_ok(load(group, store, model.buffers, manifest, {}));
        model.device.synchronize();
        EXPECT_TEXT(model.differs(1200), "");
    });
}

TEST(staging_is_bounded_and_freed) {
    MemoryFiles files;
    for (SaveMode mode : kModes)
        run_ranks(1, [&](Group &group) {
            DeviceModel model(0, 1, Where::device);
            model.fill(1200);
            expect_ok(save_of(group, files, model, 1200, mode));
            ck_assert_uint_eq(model.device.pinned_most, kStagingBytes);
            model.device.pinned_most = 0;
            Store store(files, kDirectory, incarnation(0), 3);
            Manifest manifest;
            expect_ok(load(group, store, model.buffers, manifest, {}));
            ck_assert_uint_eq(model.device.pinned_most, kStagingBytes);
            ck_assert_uint_eq(model.device.pinned, 0);
        });
    run_ranks(1, [&](Group &group) {  // without a device buffer there is none
        DeviceModel model(0, 1, Where::host);
        expect_ok(save_of(group, files, model, 1300, SaveMode::in_background));
        ck_assert_uint_eq(model.device.pinned_most, 0);
    });
}

TEST(a_copy_that_fails_is_a_failed_checkpoint) {
    for (bool late : {false, true})
        for (SaveMode mode : kModes) ck_assert_int_gt(fail_each_copy(mode, late), 20);
}

// At once: neither a retry nor an older checkpoint helps, and nothing is set aside.
TEST(a_copy_that_fails_ends_a_load) {
    MemoryFiles files;
    save_at(2, files, Where::host, 1100, SaveMode::inline_write);
    save_at(2, files, Where::host, 1200, SaveMode::inline_write);
    int copies = 0;
    run_ranks(2, [&](Group &group) {
        DeviceModel model(group.rank(), 2, Where::device);
        Store store(files, kDirectory, incarnation(1), 3);
        Manifest manifest;
        expect_ok(load(group, store, model.buffers, manifest, {}));
        if (group.rank() == 1) copies = model.device.copies;
    });
    for (bool late : {false, true})
        for (int at : {0, 7, copies - 1}) {
            run_ranks(2, [&](Group &group) {
                DeviceModel model(group.rank(), 2, Where::device);
                if (group.rank() == 1) model.device.fails_at = at;
                model.device.fails_late = late;
                Store store(files, kDirectory, incarnation(1), 3);
                Manifest manifest;
                const Status out = load(group, store, model.buffers, manifest, {3600});
                ck_assert_int_eq(out.code, RINGRT_SYSTEM_ERROR);
                ck_assert_msg(names_buffer(out.message, 1), "%s", out.message.c_str());
                ck_assert_uint_eq(model.device.pinned, 0);
            });
            load_at(2, files, Where::device, 1200, 1);
        }
}

TEST(without_pinned_memory_a_save_fails) {
    for (SaveMode mode : kModes) {
        MemoryFiles files;
        run_ranks(1, [&](Group &group) {
            DeviceModel model(0, 1, Where::device);
            model.device.no_pinned = true;
            const Status out = save_of(group, files, model, 1200, mode);
            ck_assert_int_eq(out.code, RINGRT_CHECKPOINT_FAILED);
            ck_assert_msg(names_buffer(out.message, 0), "%s", out.message.c_str());
        });
    }
}

// Memory to which a hanging copy may still write is not freed.
TEST(a_gpu_that_hangs_fails_a_save_in_time) {
    MemoryFiles files;
    run_ranks(1, [&](Group &group) {
        DeviceModel model(0, 1, Where::device, 200);
        model.fill(1200);
        model.device.hangs = true;
        Status out = save_of(group, files, model, 1200, SaveMode::in_background);
        ck_assert_int_eq(out.code, RINGRT_CHECKPOINT_FAILED);
        ck_assert_msg(contains(out.message, "rank 0: GPU 0 has not copied for "), "%s",
                      out.message.c_str());
        ck_assert_uint_eq(model.device.pinned, kStagingBytes);
        model.device.hangs = false;
        model.fill(1200);
        expect_ok(save_of(group, files, model, 1200, SaveMode::in_background));
        ck_assert_uint_eq(model.device.pinned, kStagingBytes);  // by the first save
    });
    load_at(1, files, Where::device, 1200, 1);
}

TEST(a_rank_that_waits_for_a_gpu_is_notified_of_a_lost_rank) {
    MemoryFiles files;
    run_ranks(1, [&](Group &group) {
        DeviceModel model(0, 1, Where::device);
        model.device.hangs = true;
        model.watched = {RINGRT_PEER_LOST, "rank 0: rank 1 is lost"};
        const Status out = save_of(group, files, model, 1200, SaveMode::inline_write);
        ck_assert_int_eq(out.code, RINGRT_CHECKPOINT_FAILED);
        ck_assert_msg(contains(out.message, "rank 1 is lost, during the copy of buffer a"), "%s",
                      out.message.c_str());
    });
}

TEST(a_damaged_piece_is_not_copied_to_the_device) {
    for (size_t at : {size_t{0}, size_t{4000}, size_t{9000}}) {
        MemoryFiles files;
        save_at(1, files, Where::device, 1100, SaveMode::inline_write);
        save_at(1, files, Where::device, 1200, SaveMode::inline_write);
        files.data(std::string(kDirectory) + "/step-000000001200/shard-00000")[at] ^= std::byte{1};
        load_at(1, files, Where::device, 1100, 1);
    }
}

TEST(the_nodes_local_level_works_as_well) {
    MemoryFiles files;
    run_ranks(2, [&](Group &group) {
        for (Where from : kWheres) {
            LocalLevel level(group, files, "/nvme", "node0", incarnation(0), kSmall);
            expect_ok(level.join());
            DeviceModel model(group.rank(), 2, from);
            model.fill(1200);
            expect_ok(level.save(model.buffers, {.step = 1200}));
            std::optional<uint64_t> step;
            expect_ok(level.newest(step));
            ck_assert(step == 1200U);
            for (Where to : kWheres) {
                DeviceModel other(group.rank(), 2, to);
                Manifest manifest;
                expect_ok(level.newest(step));
                expect_ok(level.load(other.buffers, manifest));
                EXPECT_TEXT(other.differs(1200), "");
            }
            model.device.fails_at = model.device.copies + 3;
            const Status out = level.save(model.buffers, {.step = 1300});
            const bool fails = from != Where::host;
            ck_assert_int_eq(out.code, fails ? RINGRT_CHECKPOINT_FAILED : RINGRT_OK);
        }
    });
}

// ---- the cutting --------------------------------------------------------------------------------

TEST(windows_are_of_one_kind_and_fit) {
    const Buffer device;
    auto source = [&](uint64_t bytes, bool on_device) {
        return Source{{0, 0, bytes}, nullptr, on_device ? &device : nullptr};
    };
    const std::vector<Source> sources = {source(90, false), source(90, false), source(40, true),
                                         source(60, true),  source(1, true),   source(500, true),
                                         source(30, true),  source(10, false), source(7, true)};
    const std::vector<Window> expected = {{0, 2}, {2, 2}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}};
    ck_assert(windows_of(sources, 100) == expected);
    ck_assert(windows_of({}, 100).empty());
}

int main() { return run_all("checkpoint_device", 240); }

// SPDX-License-Identifier: BSD-3-Clause
// Tensors that are registered after the restore.
#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include "tests/multiproc/checkpoint_ranks.h"

using namespace ringrt::test;

namespace {

// Restores with only `whole` and `scalar` registered; the others belong to step 7.
std::string restore_two(const CheckpointRank &at, TestModel &model, uint64_t expected) {
    for (TestTensor *each : {&model.whole, &model.scalar})
        TRY_TEXT(expect(at.checkpoint, each->add_to(at.checkpoint), RINGRT_OK));
    uint64_t step = 0;
    TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step), RINGRT_OK));
    if (step != expected) return "restored step " + std::to_string(step);
    TRY_TEXT(model.whole.expect_step(step));
    return model.scalar.expect_step(step);
}

std::string expect_held(const CheckpointRank &at, const char *name, int expected) {
    int held = 7;
    TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_holds(at.checkpoint, name, &held), RINGRT_OK));
    return held == expected ? "" : std::string(name) + ": held is " + std::to_string(held);
}

void save_steps(const std::string &directory, std::initializer_list<uint64_t> steps) {
    for (uint64_t step : steps)
        on_checkpoints(3, directory,
                       [&](const CheckpointRank &at) { return save_model(at, step, step); });
}

void flip_a_byte(const std::string &path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    char byte = 0;
    file.seekg(40).get(byte);
    file.seekp(40).put(static_cast<char>(byte ^ 1));
    ck_assert(file.good());
}

}  // namespace

TEST(a_late_tensor_is_filled) {
    TemporaryDirectory directory;
    save_steps(directory.path, {7});
    for (int size : {2, 1, 5})
        on_checkpoints(size, directory.path, [](const CheckpointRank &at) -> std::string {
            ringrt_checkpoint_t *const checkpoint = at.checkpoint;
            TestModel model(at, 90 + uint64_t(at.size));
            TRY_TEXT(expect_held(at, "grid", 0));
            TRY_TEXT(restore_two(at, model, 7));
            TRY_TEXT(expect_held(at, "grid", 1));
            TRY_TEXT(expect_held(at, "whole", 1));
            TRY_TEXT(expect_held(at, "fresh", 0));
            TestTensor wrong("grid", {37, 24}), fresh("fresh", {3});
            TRY_TEXT(expect(checkpoint, wrong.add_to(checkpoint), RINGRT_MISMATCH,
                            "grid has another type or shape in the checkpoint"));
            for (TestTensor *each : {&model.grid, &model.cube, &model.rows, &fresh})
                TRY_TEXT(expect(checkpoint, each->add_to(checkpoint), RINGRT_OK));
            if (!fresh.is_untouched() || !wrong.is_untouched()) return "a tensor was changed";
            return model.expect_step(7);
        });
}

TEST(after_a_save_nothing_is_filled) {
    TemporaryDirectory directory;
    save_steps(directory.path, {7});
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 4);
        TRY_TEXT(restore_two(at, model, 7));
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 8), RINGRT_OK));
        TRY_TEXT(expect_held(at, "rows", 0));
        TRY_TEXT(expect(at.checkpoint, model.rows.add_to(at.checkpoint), RINGRT_OK));
        return model.rows.is_untouched() ? "" : "the state of an older step";
    });
}

TEST(a_save_that_fails_changes_nothing) {
    TemporaryDirectory directory;
    save_steps(directory.path, {7});
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        TestModel model(at, 4);
        TRY_TEXT(restore_two(at, model, 7));
        TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 8 + uint64_t(at.rank)),
                        RINGRT_MISMATCH));
        for (TestTensor *each : {&model.grid, &model.cube, &model.rows})
            TRY_TEXT(expect(at.checkpoint, each->add_to(at.checkpoint), RINGRT_OK));
        TRY_TEXT(model.expect_step(7));
        model.fill(9);
        return expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, 9), RINGRT_OK);
    });
    on_checkpoints(3, directory.path,
                   [](const CheckpointRank &at) { return restore_model(at, 5, 9); });
}

// The restore checks also what is not registered yet, while an older checkpoint can be used.
TEST(damage_in_what_is_not_registered_is_found_by_the_restore) {
    for (int shard : {0, 1, 2}) {
        TemporaryDirectory directory;
        save_steps(directory.path, {6, 7});
        flip_a_byte(directory.path + "/step-000000000007/shard-0000" + std::to_string(shard));
        on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
            TestModel model(at, 4);
            TRY_TEXT(restore_two(at, model, 6));
            for (TestTensor *each : {&model.grid, &model.cube, &model.rows})
                TRY_TEXT(expect(at.checkpoint, each->add_to(at.checkpoint), RINGRT_OK));
            return model.expect_step(6);
        });
    }
}

TEST(damage_after_the_restore_is_an_error) {
    TemporaryDirectory directory;
    save_steps(directory.path, {7});
    on_checkpoints(1, directory.path, [&](const CheckpointRank &at) -> std::string {
        TestModel model(at, 4);
        TRY_TEXT(restore_two(at, model, 7));
        for (const char *shard : {"0", "1", "2"})
            flip_a_byte(directory.path + "/step-000000000007/shard-0000" + shard);
        TRY_TEXT(expect(at.checkpoint, model.cube.add_to(at.checkpoint), RINGRT_CORRUPT,
                        "a piece's hash differs"));
        model.cube.fill(1);  // not registered: it may be registered again
        return expect(at.checkpoint, model.cube.add_to(at.checkpoint), RINGRT_CORRUPT);
    });
}

int main() { return ringrt::test::run_all("checkpoint_late"); }

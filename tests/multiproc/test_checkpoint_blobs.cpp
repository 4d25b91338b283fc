// SPDX-License-Identifier: BSD-3-Clause
// Blobs: bytes whose number differs from rank to rank and from save to save.
#include <filesystem>
#include <fstream>

#include "tests/multiproc/checkpoint_ranks.h"

using namespace ringrt::test;

namespace {

// Some steps and ranks have no bytes, and some more than one piece of a shard.
std::string blob_of(uint64_t step, int rank) {
    static constexpr size_t kSizes[] = {0, 1, 4711, 3000017, 64, 0, 200000};
    std::string out(kSizes[(step + size_t(rank) * 3) % 7], '\0');
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<char>(step * 31 + size_t(rank) * 7 + i + i / 251);
    return out;
}

std::string set_blob(const CheckpointRank &at, const char *name, const std::string &bytes) {
    return expect(at.checkpoint,
                  ringrt_checkpoint_set_blob(at.checkpoint, name, bytes.data(), bytes.size()),
                  RINGRT_OK);
}

std::string expect_blob(const CheckpointRank &at, const char *name, int rank,
                        const std::string &expected) {
    const void *data = nullptr;
    size_t bytes = 7;
    TRY_TEXT(expect(at.checkpoint,
                    ringrt_checkpoint_get_blob(at.checkpoint, name, rank, &data, &bytes),
                    RINGRT_OK));
    if (bytes == expected.size() && (bytes == 0 || memcmp(data, expected.data(), bytes) == 0))
        return "";
    return std::string(name) + " of rank " + std::to_string(rank) + ": " + std::to_string(bytes) +
           " bytes";
}

std::string expect_none(const CheckpointRank &at, const char *name, int rank, const char *line) {
    const void *data = nullptr;
    size_t bytes = 7;
    TRY_TEXT(expect(at.checkpoint,
                    ringrt_checkpoint_get_blob(at.checkpoint, name, rank, &data, &bytes),
                    RINGRT_NOT_FOUND, line));
    return bytes == 7 && !data ? "" : "an output was changed";
}

std::string restore(const CheckpointRank &at, uint64_t expected) {
    uint64_t step = 0;
    TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step), RINGRT_OK));
    return step == expected ? "" : "restored step " + std::to_string(step);
}

}  // namespace

TEST(blobs_grow_and_shrink_and_any_rank_reads_them) {
    TemporaryDirectory directory;
    uint64_t step = 0;
    int before = 0;
    for (int size : {3, 1, 5, 2, 3, 4, 1}) {
        on_checkpoints(size, directory.path, [&](const CheckpointRank &at) -> std::string {
            TestModel model(at, step);
            TRY_TEXT(model.add_to(at.checkpoint));
            TRY_TEXT(expect_none(at, "loader/state", 0, "no checkpoint was restored"));
            if (step > 0) {
                TRY_TEXT(restore(at, step));
                TRY_TEXT(model.expect_step(step));
                for (int rank = 0; rank < before; ++rank)
                    TRY_TEXT(expect_blob(at, "loader/state", rank, blob_of(step, rank)));
                TRY_TEXT(expect_none(at, "loader/state", before, "and has no part of rank"));
                TRY_TEXT(expect_blob(at, "zero", before - 1, ""));
                TRY_TEXT(expect_blob(at, "aaa", 0, "of rank 0"));
                TRY_TEXT(expect_none(at, "whole", 0, "the checkpoint holds no blob whole"));
            }
            TRY_TEXT(set_blob(at, "zero", ""));
            TRY_TEXT(set_blob(at, "aaa", at.rank == 0 ? "of rank 0" : ""));
            for (uint64_t next : {step + 1, step + 2}) {
                model.fill(next);
                TRY_TEXT(set_blob(at, "loader/state", blob_of(next, at.rank)));
                TRY_TEXT(
                    expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, next), RINGRT_OK));
            }
            return expect_none(at, "aaa", 0, "or one was saved since");
        });
        step += 2;
        before = size;
    }
}

// A blob that is not set again is saved as it was set.
TEST(a_blob_is_a_copy_and_stays) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        std::string bytes = "rank " + std::to_string(at.rank);
        TRY_TEXT(set_blob(at, "b", bytes));
        bytes = "??????";
        for (uint64_t step : {1, 2})
            TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, step), RINGRT_OK));
        return "";
    });
    on_checkpoints(1, directory.path, [](const CheckpointRank &at) -> std::string {
        TRY_TEXT(restore(at, 2));
        TRY_TEXT(expect_blob(at, "b", 0, "rank 0"));
        return expect_blob(at, "b", 1, "rank 1");
    });
}

TEST(blobs_are_checked) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        ringrt_checkpoint_t *const c = at.checkpoint;
        TestTensor tensor("t", {2});
        TRY_TEXT(expect(c, tensor.add_to(c), RINGRT_OK));
        TRY_TEXT(set_blob(at, "b", "12"));
        TestTensor same("b", {2});
        TRY_TEXT(expect(c, same.add_to(c), RINGRT_INVALID_ARGUMENT, "a blob of that name"));
        TRY_TEXT(expect(c, ringrt_checkpoint_set_blob(c, "t", "", 0), RINGRT_INVALID_ARGUMENT,
                        "registered already"));
        TRY_TEXT(expect(c, ringrt_checkpoint_set_blob(c, "../b", "", 0), RINGRT_INVALID_ARGUMENT,
                        "a buffer's name"));
        TRY_TEXT(expect(c, ringrt_checkpoint_set_blob(c, "n", nullptr, 1), RINGRT_INVALID_ARGUMENT,
                        "a blob's data is NULL"));
        if (at.rank == 1) TRY_TEXT(set_blob(at, "only", "1"));
        TRY_TEXT(expect(c, ringrt_checkpoint_save(c, 1), RINGRT_MISMATCH,
                        "rank 1 registered other buffers than rank 0"));
        if (at.rank == 0) TRY_TEXT(set_blob(at, "only", ""));
        return expect(c, ringrt_checkpoint_save(c, 1), RINGRT_OK);
    });
    // As a tensor it has another type.
    on_checkpoints(1, directory.path, [](const CheckpointRank &at) -> std::string {
        uint8_t bytes[4];
        const uint64_t four = 4;
        TRY_TEXT(
            expect(at.checkpoint,
                   ringrt_checkpoint_register(at.checkpoint, "b", bytes, RINGRT_UINT8, 1, &four),
                   RINGRT_OK));
        uint64_t step = 0;
        return expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step),
                      RINGRT_MISMATCH, "b has another type or shape in the checkpoint");
    });
}

TEST(a_damaged_blob_makes_an_older_checkpoint_the_newest) {
    TemporaryDirectory directory;
    on_checkpoints(2, directory.path, [](const CheckpointRank &at) -> std::string {
        for (uint64_t step : {1, 2}) {
            TRY_TEXT(set_blob(at, "b", std::to_string(step) + " of " + std::to_string(at.rank)));
            TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, step), RINGRT_OK));
        }
        return "";
    });
    std::fstream file(directory.path + "/step-000000000002/shard-00001",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.put('3');
    file.close();
    on_checkpoints(3, directory.path, [](const CheckpointRank &at) -> std::string {
        TRY_TEXT(restore(at, 1));
        return expect_blob(at, "b", 1, "1 of 1");
    });
}

int main() { return ringrt::test::run_all("checkpoint_blobs"); }

// SPDX-License-Identifier: BSD-3-Clause
// Ranks with a checkpoint handle (ringrt_checkpoint.h) each, over a communicator, and tensors whose
// elements tell their step and place.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "libringrt/ringrt_checkpoint.h"
#include "tests/multiproc/comm_ranks.h"
#include "tests/support/blocks.h"

namespace ringrt::test {

// Returns "" or the error.
inline std::string expect(const ringrt_checkpoint_t *checkpoint, ringrt_status_t got,
                          ringrt_status_t expected, const std::string &in_line = "") {
    const std::string line = ringrt_checkpoint_last_error(checkpoint);
    if (got != expected)
        return std::string(ringrt_status_string(got)) + " instead of " +
               ringrt_status_string(expected) + ": " + line;
    if (got == RINGRT_OK || line.find(in_line) != line.npos) return "";
    return "\"" + line + "\" without \"" + in_line + "\"";
}

struct CheckpointRank {
    ringrt_checkpoint_t *checkpoint;
    int rank, size;
};
using CheckpointBody = std::function<std::string(const CheckpointRank &)>;

// A run of the program on `size` ranks: opens `directory` and runs `body`. Rank `except` may end in
// any way.
inline void on_checkpoints(int size, const std::string &directory, const CheckpointBody &body,
                           uint32_t keep = 0, int except = -1) {
    on_comms(
        {size, 1},
        [&](ringrt_comm_t *comm) -> std::string {
            unsetenv("SLURM_JOB_ID");
            ringrt_checkpoint_config_t config = RINGRT_CHECKPOINT_CONFIG_INIT;
            config.directory = directory.c_str();
            config.keep = keep;
            ringrt_checkpoint_t *checkpoint = nullptr;
            TRY_TEXT(
                expect(checkpoint, ringrt_checkpoint_open(&checkpoint, comm, &config), RINGRT_OK));
            TRY_TEXT(body({checkpoint, ringrt_comm_rank(comm), size}));
            return expect(static_cast<const ringrt_checkpoint_t *>(nullptr),
                          ringrt_checkpoint_close(checkpoint), RINGRT_OK);
        },
        except);
}

// This rank's part of a tensor of doubles.
class TestTensor {
  public:
    TestTensor(std::string name, std::vector<uint64_t> shape)
        : name_(std::move(name)), shape_(shape), block_(checkpoint_block(shape)) {
        data_.resize(count());
    }
    TestTensor(std::string name, std::vector<uint64_t> shape, Block block)
        : name_(std::move(name)),
          shape_(std::move(shape)),
          block_(std::move(block)),
          is_block_(true) {
        data_.resize(count());
    }
    TestTensor(const TestTensor &) = delete;
    TestTensor &operator=(const TestTensor &) = delete;

    ringrt_status_t add_to(ringrt_checkpoint_t *checkpoint) {
        const int ndim = static_cast<int>(shape_.size());
        if (!is_block_)
            return ringrt_checkpoint_register(checkpoint, name_.c_str(), data_.data(),
                                              RINGRT_FLOAT64, ndim, shape_.data());
        return ringrt_checkpoint_register_block(checkpoint, name_.c_str(), data_.data(),
                                                RINGRT_FLOAT64, ndim, shape_.data(),
                                                block_.offset.data(), block_.extent.data());
    }
    void fill(uint64_t step) {
        for (uint64_t i = 0; i < count(); ++i) data_[i] = value(step, i);
    }
    std::string expect_step(uint64_t step) const {
        for (uint64_t i = 0; i < count(); ++i)
            if (data_[i] != value(step, i))
                return name_ + " is not that of step " + std::to_string(step) + " at element " +
                       std::to_string(i);
        return "";
    }
    bool is_untouched() const {
        return std::ranges::all_of(data_, [](double each) { return each == 0; });
    }

  private:
    static Block checkpoint_block(const std::vector<uint64_t> &shape) {
        return {std::vector<uint64_t>(shape.size()), shape};
    }
    uint64_t count() const {
        uint64_t out = 1;
        for (const uint64_t extent : block_.extent) out *= extent;
        return out;
    }
    double value(uint64_t step, uint64_t i) const {
        return static_cast<double>(step * 1000000 + 1 + index_of(block_, shape_, i)) +
               static_cast<double>(name_[0]) / 256;
    }
    const std::string name_;
    const std::vector<uint64_t> shape_;
    const Block block_;
    const bool is_block_ = false;
    std::vector<double> data_;
};

// The tensors of a small model, cut at random, but alike at all ranks of one run.
struct TestModel {
    TestModel(const CheckpointRank &at, uint64_t seed)
        : whole("whole", {3, 5, 7}),
          scalar("scalar", {}),
          grid("grid", {37, 23}, cut({37, 23}, at, seed)),
          cube("cube", {5, 6, 7}, cut({5, 6, 7}, at, seed + 1)),
          rows("rows", {41, 3}, rows_of(41, at)) {}
    static Block cut(const std::vector<uint64_t> &shape, const CheckpointRank &at, uint64_t seed) {
        std::mt19937_64 random(seed);
        return random_tiling(shape, at.size, random)[static_cast<size_t>(at.rank)];
    }
    static Block rows_of(uint64_t rows, const CheckpointRank &at) {
        const auto rank = static_cast<uint64_t>(at.rank), size = static_cast<uint64_t>(at.size);
        const uint64_t first = rows * rank / size;
        return {{first, 0}, {rows * (rank + 1) / size - first, 3}};
    }
    std::string add_to(ringrt_checkpoint_t *checkpoint) {
        for (TestTensor *each : all)
            TRY_TEXT(expect(checkpoint, each->add_to(checkpoint), RINGRT_OK));
        return "";
    }
    void fill(uint64_t step) {
        for (TestTensor *each : all) each->fill(step);
    }
    std::string expect_step(uint64_t step) const {
        for (const TestTensor *each : all) TRY_TEXT(each->expect_step(step));
        return "";
    }
    TestTensor whole, scalar, grid, cube, rows;
    const std::vector<TestTensor *> all = {&cube, &whole, &rows, &grid, &scalar};
};

// Registers, and saves `step`.
inline std::string save_model(const CheckpointRank &at, uint64_t seed, uint64_t step) {
    TestModel model(at, seed);
    TRY_TEXT(model.add_to(at.checkpoint));
    model.fill(step);
    return expect(at.checkpoint, ringrt_checkpoint_save(at.checkpoint, step), RINGRT_OK);
}

// Registers, restores, and checks every element.
inline std::string restore_model(const CheckpointRank &at, uint64_t seed, uint64_t expected) {
    TestModel model(at, seed);
    TRY_TEXT(model.add_to(at.checkpoint));
    uint64_t step = 77;
    TRY_TEXT(expect(at.checkpoint, ringrt_checkpoint_restore(at.checkpoint, &step), RINGRT_OK));
    if (step != expected) return "restored step " + std::to_string(step);
    return model.expect_step(step);
}

}  // namespace ringrt::test

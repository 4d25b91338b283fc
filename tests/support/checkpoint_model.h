// SPDX-License-Identifier: BSD-3-Clause
// The state of a small training, with save and load functions, for checkpoint tests.
#pragma once

#include <memory>
#include <stdexcept>

#include "libringrt/checkpoint/load.h"
#include "libringrt/checkpoint/save.h"
#include "tests/support/check.h"
#include "tests/support/memory_files.h"
#include "tests/support/thread_group.h"

namespace ringrt::test {

using namespace checkpoint;

inline constexpr const char *kDirectory = "/run/ckpt";
// Small pieces and writers, so that a few kilobytes make many of both.
inline constexpr LayoutOptions kSmall{.piece_bytes = 256, .writer_bytes = 64};

// A training's state: two whole parameters and one sharded by rows, all filled from the step
// number.
class Model {
  public:
    Model(int rank, int size) {
        rows_first_ = 37 * static_cast<uint64_t>(rank) / static_cast<uint64_t>(size);
        rows_ = 37 * static_cast<uint64_t>(rank + 1) / static_cast<uint64_t>(size) - rows_first_;
        a_.resize(501);
        b_.resize(3);
        c_.resize(rows_ * 11);
        buffers_ = {buffer("a/weights", a_.data(), a_.size() * 4, RINGRT_FLOAT32, {167, 3}),
                    buffer("b", b_.data(), b_.size() * 8, RINGRT_FLOAT64, {3}),
                    buffer("c", c_.data(), c_.size() * 4, RINGRT_INT32, {37, 11})};
        hold_block(buffers_[2], rows_block({37, 11}, rows_first_, rows_));
    }
    Model(const Model &) = delete;

    void fill(uint64_t step) {
        for (size_t i = 0; i < a_.size(); ++i) a_[i] = static_cast<float>(step * 1000 + i);
        for (size_t i = 0; i < b_.size(); ++i)
            b_[i] = static_cast<double>(step) + 0.1 * static_cast<double>(i);
        for (size_t i = 0; i < c_.size(); ++i)
            c_[i] = static_cast<int32_t>(step * 7919 + rows_first_ * 11 + i);
    }
    bool is(uint64_t step) const {
        Model other(0, 1);
        other.rows_first_ = rows_first_;
        other.c_.resize(c_.size());
        other.fill(step);
        return a_ == other.a_ && b_ == other.b_ && c_ == other.c_;
    }
    const std::vector<Buffer> &buffers() const { return buffers_; }

  private:
    static Buffer buffer(const char *name, void *data, uint64_t bytes, ringrt_dtype_t dtype,
                         std::vector<uint64_t> shape) {
        return {.parameter = {.name = name, .dtype = dtype, .shape = std::move(shape)},
                .data = static_cast<std::byte *>(data),
                .bytes = bytes};
    }
    uint64_t rows_first_ = 0, rows_ = 0;
    std::vector<float> a_;
    std::vector<double> b_;
    std::vector<int32_t> c_;
    std::vector<Buffer> buffers_;
};

inline Fence incarnation(uint32_t restart) {
    return {.job = 7, .restart = restart, .nonce = 0x1000 + restart};
}

inline Status save_with(Group &group, Store &store, const Model &model, uint64_t step,
                        SaveMode mode = SaveMode::inline_write) {
    Saver saver(group, store, kSmall);
    Meta meta{.step = step, .samples = step * 64, .seed = 5, .speeds = {{1, 520.5}, {4, 131.25}}};
    if (Status started = saver.start(model.buffers(), meta, mode); !started.ok()) return started;
    return saver.finish();
}

// Saves as one rank alone, in its own incarnation.
inline Status save_alone(Files &files, uint64_t step, uint32_t restart = 0,
                         const std::string &directory = kDirectory) {
    Status out;
    run_ranks(1, [&](Group &group) {
        Store store(files, directory, incarnation(restart), 3);
        Model model(0, 1);
        model.fill(step);
        out = save_with(group, store, model, step);
    });
    return out;
}

// Loads as one rank alone. Returns ok only if the content belongs to the step that it names.
inline Status load_alone(Files &files, uint64_t &step, uint32_t restart = 1,
                         const std::string &directory = kDirectory) {
    Status out;
    run_ranks(1, [&](Group &group) {
        Store store(files, directory, incarnation(restart), 3);
        Model model(0, 1);
        Manifest manifest;
        out = load(group, store, model.buffers(), manifest);
        if (!out.ok()) return;
        step = manifest.step;
        if (!model.is(step))
            throw std::runtime_error(format_text("the content is not that of step %d", int(step)));
    });
    return out;
}

inline uint64_t loaded_step(Files &files, uint32_t restart = 1,
                            const std::string &directory = kDirectory) {
    uint64_t step = 0;
    Status out = load_alone(files, step, restart, directory);
    ck_assert_msg(out.ok(), "load: %s (%s)", ringrt::format_text("%d", out.code).c_str(),
                  out.message.c_str());
    return step;
}

inline void expect_ok(const Status &outcome) {
    ck_assert_msg(outcome.ok(), "%s", outcome.message.c_str());
}

inline std::unique_ptr<MemoryFiles> with_steps(std::initializer_list<uint64_t> steps) {
    auto files = std::make_unique<MemoryFiles>();
    for (uint64_t step : steps) expect_ok(save_alone(*files, step));
    return files;
}

inline bool contains(const std::string &text, const char *part) {
    return text.find(part) != text.npos;
}

}  // namespace ringrt::test

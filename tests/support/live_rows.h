// SPDX-License-Identifier: BSD-3-Clause
// A LiveTraining whose momentum is divided among the ranks by rows (ringrt_register_placed_rows()).
// A second matrix, divided in another way, holds the step and the place of each element: a row that
// is lost, late or in the wrong place is found in the next step.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "tests/support/live_job.h"

namespace ringrt::test {

// Memory that the library holds, by address, so that a release of other memory is found.
class RowMemory {
  public:
    std::function<float *(size_t)> make = [](size_t floats) { return new float[floats]; };
    std::function<void(float *)> unmake = [](float *memory) { delete[] memory; };
    // Where the test may access it.
    std::function<float *(float *)> seen = [](float *memory) { return memory; };

    float *take(size_t floats) {
        float *memory = make(floats + 1);
        std::fill_n(seen(memory), floats + 1, -1.0F);
        held_[memory] = floats;
        return memory;
    }
    void give_back(void *memory) {
        if (held_.erase(static_cast<float *>(memory)) != 1)
            throw_out("memory is released that was not placed, or twice");
        unmake(static_cast<float *>(memory));
    }
    [[nodiscard]] size_t count() const { return held_.size(); }
    [[noreturn]] static void throw_out(const char *what) {
        fprintf(stderr, "rows: %s\n", what);
        _exit(249);
    }

  private:
    std::map<float *, size_t> held_;
};

class LiveRows : public LiveTraining {
  public:
    static constexpr uint64_t kRows = 101, kColumns = 3;
    int fails_job = -1;          // its ranks cannot place rows
    bool fails_leaving = false;  // rank 1 of the base cannot, the first time that ranks leave
    int overlaps_job = -1;       // its ranks place rows that others have
    // The memory of a job's rows.
    std::function<RowMemory(int job)> memory_of = [](int) { return RowMemory(); };

    LiveRows() {
        floats = kRows * kColumns;
        prepare = [this](int job, ringrt_t *rt) { register_rows(job, rt); };
        reduce = [this](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
            return sum(rt, g, step);
        };
        apply = [this](std::vector<float> &w, std::vector<float> &, const std::vector<float> &) {
            std::copy(momentum_.begin(), momentum_.end(), own_momentum());
            for (uint64_t i = 0; i < marks_.count * kColumns; ++i)
                marks()[i] = mark(marks_.first * kColumns + i, step_ + 1);
            for (size_t j = 0; j < w.size(); ++j) w[j] -= delta_[j];
        };
    }

    // Rank r of n has a part of r + 1 of 1 + 2 + … + n parts, but rank 1 of five or more has none.
    static ringrt_rows_t uneven(int rank, int size) {
        auto before = [&](int r) {
            if (size >= 5 && r == 1) r = 2;
            const auto parts = static_cast<uint64_t>(size) * (static_cast<uint64_t>(size) + 1) / 2;
            return kRows * (static_cast<uint64_t>(r) * (static_cast<uint64_t>(r) + 1) / 2) / parts;
        };
        const uint64_t first = before(rank), end = before(rank + 1);
        return {.first = first, .count = end - first, .data = nullptr};
    }
    // Equal parts, the last rank's first: every change moves most rows.
    static ringrt_rows_t reversed(int rank, int size) {
        const auto place = static_cast<uint64_t>(size - 1 - rank), ranks = uint64_t(size);
        const uint64_t first = kRows * place / ranks, end = kRows * (place + 1) / ranks;
        return {.first = first, .count = end - first, .data = nullptr};
    }

  private:
    struct Matrix {
        LiveRows *training;
        bool reverse;
    };
    // Small enough to be exact as a float.
    static float mark(uint64_t element, uint64_t step) {
        return static_cast<float>(element * 4096 + step % 4096);
    }
    static int place(void *context, int rank, int size, ringrt_rows_t *out) {
        const auto &matrix = *static_cast<Matrix *>(context);
        LiveRows &training = *matrix.training;
        if (training.job_ == training.fails_job && (training.job_ > 0 || size > training.started_))
            return 1;
        training.grown_ = training.grown_ || size > training.started_;
        if (training.fails_leaving && training.job_ == 0 && rank == 1 && training.grown_ &&
            size == training.started_ && !std::exchange(training.failed_, true))
            return 1;
        *out = matrix.reverse ? reversed(rank, size) : uneven(rank, size);
        if (training.job_ == training.overlaps_job) *out = {0, kRows, nullptr};
        out->data = training.memory.take(out->count * kColumns);
        return 0;
    }
    static void release(void *context, void *data) {
        static_cast<Matrix *>(context)->training->memory.give_back(data);
    }

    void register_rows(int job, ringrt_t *rt) {
        job_ = job, started_ = ringrt_size(rt), memory = memory_of(job);
        const uint64_t shape[] = {kRows, kColumns};
        for (Matrix *each : {&by_parts_, &by_reverse_}) {
            const char *name = each->reverse ? "marks" : "momentum-rows";
            if (ringrt_register_placed_rows(rt, name, RINGRT_FLOAT32, 2, shape, place, release,
                                            each) != RINGRT_OK)
                throw std::runtime_error(ringrt_last_error(rt));
        }
        look(rt);
        std::fill_n(own_momentum(), rows_.count * kColumns, 0.0F);
        for (uint64_t i = 0; i < marks_.count * kColumns; ++i)
            marks()[i] = mark(marks_.first * kColumns + i, 0);
    }
    void look(const ringrt_t *rt) {
        if (ringrt_rows(rt, "momentum-rows", &rows_) != RINGRT_OK ||
            ringrt_rows(rt, "marks", &marks_) != RINGRT_OK)
            throw std::runtime_error(ringrt_last_error(rt));
        if (memory.count() > 2) throw std::runtime_error("old rows were not released");
    }
    float *own_momentum() { return memory.seen(static_cast<float *>(rows_.data)); }
    float *marks() { return memory.seen(static_cast<float *>(marks_.data)); }

    void check_marks(const ringrt_t *rt, uint64_t step) {
        const int rank = ringrt_rank(rt), size = ringrt_size(rt);
        const ringrt_rows_t rows = uneven(rank, size), marks = reversed(rank, size);
        if (rows_.first != rows.first || rows_.count != rows.count || marks_.first != marks.first ||
            marks_.count != marks.count)
            throw std::runtime_error("rows of another size");
        for (uint64_t i = 0; i < marks_.count * kColumns; ++i)
            if (this->marks()[i] != mark(marks_.first * kColumns + i, step))
                throw std::runtime_error("a row of another step or place");
    }

    // Sums g, and makes the update of w from each rank's rows of the momentum.
    ringrt_status_t sum(ringrt_t *rt, std::vector<float> &g, uint64_t step) {
        look(rt);
        check_marks(rt, step);
        step_ = step;
        ringrt_status_t status =
            ringrt_allreduce(g.data(), g.data(), g.size(), RINGRT_FLOAT32, RINGRT_SUM, rt);
        momentum_.assign(own_momentum(), own_momentum() + rows_.count * kColumns);
        delta_.assign(floats, 0);
        for (size_t i = 0; i < momentum_.size(); ++i) {
            const size_t j = rows_.first * kColumns + i;
            momentum_[i] = 0.875F * momentum_[i] + g[j];
            delta_[j] = momentum_[i] / 1024;
        }
        if (status == RINGRT_OK)
            status = ringrt_allreduce(delta_.data(), delta_.data(), floats, RINGRT_FLOAT32,
                                      RINGRT_SUM, rt);
        return status;
    }

    // Of one process.
    RowMemory memory;
    int job_ = 0, started_ = 0;
    bool grown_ = false, failed_ = false;
    uint64_t step_ = 0;
    Matrix by_parts_{this, false}, by_reverse_{this, true};
    ringrt_rows_t rows_ = {}, marks_ = {};
    std::vector<float> momentum_, delta_;
};

}  // namespace ringrt::test

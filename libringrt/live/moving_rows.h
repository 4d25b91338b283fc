// SPDX-License-Identifier: BSD-3-Clause
// Rows of matrices that are divided among the ranks (ringrt_register_placed_rows()), and how they
// move when the ranks change: from each rank's old memory into the new memory of the ranks that
// lack them. A rank keeps its old rows until the change is certain.
//
// clang-format off
//
//            place(), move()            adopt()
//   held ──────────────────► held and fresh ─────► held: the fresh ones; the old ones are released
//                                  │ discard()
//                                  └─────────────► held, as before; the fresh ones are released
//
// clang-format on
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "libringrt/checkpoint/layout.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/live/row_exchange.h"

namespace ringrt::live {

struct RowCalls {
    ringrt_place_fn place = nullptr;
    ringrt_release_fn release = nullptr;
    void *context = nullptr;
};

// How rows are registered, which saves and restores use.
struct RowRegistry {
    std::function<Status(checkpoint::Buffer &)> find_device;  // sets Buffer::device
    std::function<Status(checkpoint::Buffer)> add;            // the first time
    std::function<void(const checkpoint::Buffer &)> replace;  // of the same name
};

class MovingRows {
  public:
    explicit MovingRows(RowRegistry registry) : registry_(std::move(registry)) {}
    ~MovingRows();  // releases what is held
    MovingRows(const MovingRows &) = delete;
    MovingRows &operator=(const MovingRows &) = delete;

    // `size` 0: the rank holds no rows yet.
    Status add(const checkpoint::Parameter &parameter, const RowCalls &calls, int rank, int size);
    [[nodiscard]] bool any() const { return !matrices_.empty(); }
    // Null: there is no such matrix.
    [[nodiscard]] const checkpoint::Buffer *find(const std::string &name) const;

    // The number of ranks for which this rank's rows are placed, and hold the present state; 0:
    // they do not.
    [[nodiscard]] uint32_t placed_for() const { return placed_for_; }

    // Collective over `over`, whose first `size` ranks get fresh rows from the held ones of all.
    // Each byte is sent once, to a rank that lacks it. `agrees`: all ranks return the same, unless
    // one is lost; otherwise each returns what it knows itself.
    Status move(Communicator &over, int size, bool agrees);
    // Replaces the held rows by fresh ones, which hold nothing yet, for a load. Not collective.
    Status replace_all(int rank, int size);
    void filled(int size) { placed_for_ = static_cast<uint32_t>(size); }

    void adopt(int size);
    void discard();
    // This rank leaves.
    void drop();

  private:
    struct Matrix {
        RowCalls calls;
        checkpoint::Buffer held, fresh;
        bool is_held = false, is_fresh = false;  // placed, and not released
    };
    Status place(int rank, int size);
    Status place_one(Matrix &matrix, int rank, int size);
    // The rows of one matrix at all ranks.
    struct Spans {
        std::vector<RowSpan> held, fresh;
    };
    Status gather_spans(Communicator &over, const Status &mine, std::vector<Spans> &out) const;
    Status exchange(Communicator &over, const std::vector<Spans> &spans) const;
    static void release(const Matrix &matrix, const checkpoint::Buffer &buffer);

    const RowRegistry registry_;
    std::vector<Matrix> matrices_;  // by name
    uint32_t placed_for_ = 0;
};

}  // namespace ringrt::live

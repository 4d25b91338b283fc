// SPDX-License-Identifier: BSD-3-Clause
// The remaining ranks agree on a step, and on whether they still hold all rows together.
#include <algorithm>
#include <utility>

#include "libringrt/live/buffer_rows.h"
#include "libringrt/live/resizer.h"
#include "libringrt/live/settlement.h"

namespace ringrt::live {

// `finish_top`: all ranks of the uppermost level leave it as planned.
void Resizer::drop_above(int level, bool finish_top) {
    drop_forming();
    if (level < 0) rows_.drop();
    std::vector<Level> dropped;  // until no operation uses them
    while (static_cast<int>(above_.size()) > std::max(level, 0)) {
        if (above_.back().own && !finish_top) above_.back().own->abort();
        for (const auto &spare : above_.back().spares.left) spare->abort();
        dropped.push_back(std::move(above_.back()));
        above_.pop_back();
    }
    options_.use(present());
    close_in_background(std::move(dropped), finish_top);
}

// After a vote. A rank may not have all votes yet: no rank closes the present level before all are
// done with it. Ranks that stay need not wait for that before the settling, because on a busy node
// a rank may wait long for its turn. A GPU's part ends in this thread.
bool Resizer::finishes_in_background() { return !above_.empty() && !present().is_on_gpu(); }

// The other ranks would wait for it in the settling.
void Resizer::close_in_background(std::vector<Level> dropped, bool finish_first) {
    if (dropped.empty()) return;
    auto all = std::make_shared<decltype(dropped)>(std::move(dropped));
    closer_->add([all, finish_first] {
        if (finish_first) (void)all->front().own->finish();
        all->clear();
    });
}

// Collective over the present level, after a vote by which some of its ranks leave: the others get
// their rows, if no rank is lost meanwhile. The settling that follows finds whether all did.
void Resizer::hand_over_rows() {
    if (!rows_.any()) return;
    const bool stays = machine_.phase() == Phase::settling;
    const int ranks = stays ? machine_.ranks() : 0;
    Status moved = rows_.move(present(), ranks, false);
    if (moved.code == RINGRT_SYSTEM_ERROR || moved.code == RINGRT_INVALID_ARGUMENT)
        log_line(moved.message);  // an error in this rank's program
    if (moved.ok() && stays)
        rows_.adopt(ranks);
    else
        rows_.discard();
    if (!stays) rows_.drop();
}

Status Resizer::rows_status() const {
    if (settled_.rows == RowsFrom::memory) return {};
    return {
        RINGRT_PEER_LOST,
        settled_.rows == RowsFrom::copy
            ? "a lost rank had rows: ringrt_restore() continues from the copy of an earlier "
              "step"
            : "a lost rank had rows that no other rank has: ringrt_restore() continues from the "
              "newest checkpoint"};
}

Status Resizer::place_rows() { return rows_.replace_all(present().rank(), present().size()); }

void Resizer::rows_loaded() {
    rows_.filled(present().size());
    settled_.rows = RowsFrom::memory;
    copies_.clear();
}

Status Resizer::settle(Position &position, bool finish_top) {
    for (;;) {
        drop_above(machine_.level(), std::exchange(finish_top, false));
        Status settled = settle_once(position);
        if (settled.ok()) {
            (void)machine_.settled();
            if (machine_.level() == 0 && settled_.rows != RowsFrom::copy) copies_.clear();
            return {};
        }
        // If the ranks can still communicate, this rank's own GPU or program failed: its buffers no
        // longer hold a whole step.
        if (present().failure() == RINGRT_OK) return settled;
        if (machine_.level() == 0) return settled;
        if (machine_.lost() != Act::settle) {
            drop_above(-1);
            return settled;
        }
    }
}

// On the present level: ranks that are behind get the newest step's state, unless all go back.
Status Resizer::settle_once(Position &position) {
    Communicator &over = present();
    position.rows = rows_.placed_for();
    copies_.add_to(position);
    std::vector<Position> all(static_cast<size_t>(over.size()));
    RINGRT_TRY(over.outcome(over.all_gather(&position, all.data(), sizeof position)));
    settled_ = agree_on(all, machine_.sizes()[0], rows_.any());
    if (settled_.rows == RowsFrom::copy) return {};
    const Position &newest = all[static_cast<size_t>(settled_.root)];
    if (newest.torn != 0)
        return {RINGRT_PEER_LOST,
                "the rank with the newest step was lost while sending it, and no other rank holds "
                "all of it"};
    if (settled_.is_a_rank_behind)
        RINGRT_TRY(state_.to_ranks_behind(over, settled_.root,
                                          is_behind(position, newest) ? &position.torn : nullptr));
    position = newest;
    return {};
}

void Resizer::finish(Position position) {
    if (is_outside() || is_released()) return;
    position.over = 1;
    if (machine_.level() > 0 || is_shrinking()) (void)present().finish();
    const Act act = machine_.finished();
    if (act == Act::settle) (void)settle(position);
    if (act == Act::replace) (void)replace(position);
}

// ---- copies (state_copies.h) --------------------------------------------------------------------

// On rank 0. Before a join the base alone has everything: its copy costs no traffic, and the
// extension may be lost in its first step.
bool Resizer::is_copy_due(uint64_t step) const {
    if (options_.copy_steps == 0 || !rows_.any()) return false;
    return machine_.level() == 0 || copies_.tried_step() == kNoStep ||
           step - copies_.tried_step() >= options_.copy_steps;
}

// Whether the ranks that voted all continue together, and some could be lost.
bool Resizer::is_copied_at(Act act) const {
    if (act == Act::transfer) return true;
    return machine_.level() > 0 && (act == Act::train || act == Act::form || act == Act::call_off);
}

// A failure without a loss leaves the copy before this one, and is tried again.
Status Resizer::copy_state(const Position &position) {
    const Status copied = copies_.take(present(), machine_.sizes()[0], position);
    if (copied.ok() || present().failure() != RINGRT_OK) return copied;
    if (copied.code != RINGRT_MISMATCH) log_line(copied.message + ": no copy now");
    return {};
}

// All ranks of the present level return to the copy on which they have agreed. If rows cannot be
// placed, they load a checkpoint.
Status Resizer::go_back(Position &position) {
    position.torn = 1;
    Status filled = agree(present(), place_rows(), "a rank could not place its rows");
    if (filled.ok()) filled = copies_.give_back(present(), settled_.copy, position);
    if (present().failure() != RINGRT_OK) return filled;
    if (!filled.ok()) {
        if (filled.code != RINGRT_MISMATCH) log_line(filled.message);
        settled_.rows = RowsFrom::checkpoint;
        return {};
    }
    rows_.filled(present().size());
    settled_.rows = RowsFrom::memory;
    machine_.level() == 0 ? copies_.clear() : copies_.keep_only(settled_.copy);
    return {};
}

}  // namespace ringrt::live

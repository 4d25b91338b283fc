// SPDX-License-Identifier: BSD-3-Clause
// The remaining ranks agree on a step, and on whether they still hold all rows together.
#include <algorithm>

#include "libringrt/live/resizer.h"

namespace ringrt::live {
namespace {

// Whether the rows of all these ranks are those of one step, and tile their matrices.
bool have_rows(const std::vector<Position> &all, const Position &newest) {
    return std::ranges::all_of(all, [&](const Position &each) {
        return each.rows == all.size() && each.step == newest.step && each.torn == 0;
    });
}

}  // namespace

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
    if (!lost_rows_) return {};
    return {RINGRT_PEER_LOST,
            "a lost rank had rows that no other rank has: ringrt_restore() continues from the "
            "newest checkpoint"};
}

Status Resizer::place_rows() { return rows_.replace_all(present().rank(), present().size()); }

void Resizer::rows_loaded() {
    rows_.filled(present().size());
    lost_rows_ = false;
}

Status Resizer::settle(Position &position) {
    for (;;) {
        drop_above(machine_.level());
        Status settled = settle_once(position);
        if (settled.ok()) {
            (void)machine_.settled();
            return {};
        }
        // If the ranks can still communicate, this rank's own GPU or program failed: its buffers no
        // longer hold a whole step.
        if (present().failure() == RINGRT_OK) return settled;
        if (machine_.level() == 0 || machine_.lost() != Act::settle) return settled;
    }
}

// On the present level: ranks that are behind get the newest step's state.
Status Resizer::settle_once(Position &position) {
    Communicator &over = present();
    position.rows = rows_.placed_for();
    std::vector<Position> all(static_cast<size_t>(over.size()));
    RINGRT_TRY(over.outcome(over.all_gather(&position, all.data(), sizeof position)));
    const auto newest = std::max_element(all.begin(), all.end(), is_behind);
    const auto oldest = std::min_element(all.begin(), all.end(), is_behind);
    const auto root = static_cast<int>(newest - all.begin());
    if (newest->torn != 0)
        return {RINGRT_PEER_LOST,
                "the rank with the newest step was lost while sending it, and no other rank holds "
                "all of it"};
    if (is_behind(*oldest, *newest))
        RINGRT_TRY(state_.to_ranks_behind(over, root,
                                          is_behind(position, *newest) ? &position.torn : nullptr));
    // A rank that saw a loss in the last ballot needs no rows any more, and the others do not load.
    const bool ended =
        std::ranges::any_of(all, [](const Position &each) { return each.over != 0; });
    lost_rows_ = rows_.any() && !ended && !have_rows(all, *newest);
    position = *newest;
    return {};
}

}  // namespace ringrt::live

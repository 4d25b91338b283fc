// SPDX-License-Identifier: BSD-3-Clause
// What ranks that settle agree on: the newest whole step, and where they find lost rows.
#include "libringrt/live/settlement.h"
#include "tests/support/check.h"

using namespace ringrt::live;
using namespace ringrt::test;

namespace {

Position at(uint64_t step, uint32_t rows = 0, uint64_t copy = kNoStep, uint64_t older = kNoStep) {
    Position out{.step = step, .rows = rows};
    out.copies[0] = copy, out.copies[1] = older;
    return out;
}

}  // namespace

TEST(the_newest_whole_step_counts) {
    Settlement got = agree_on({at(7), at(8), at(8)}, 2, false);
    ck_assert_int_eq(got.root, 1);
    ck_assert(got.is_a_rank_behind && !got.is_over && got.rows == RowsFrom::memory);
    got = agree_on({at(8), at(8)}, 2, false);
    ck_assert(!got.is_a_rank_behind);
    Position torn = at(9);
    torn.torn = 1;
    got = agree_on({torn, at(8)}, 2, false);
    ck_assert_int_eq(got.root, 1);
    ck_assert(got.is_a_rank_behind);
}

TEST(rows_that_tile_at_one_step_stay_in_memory) {
    ck_assert(agree_on({at(8, 2, 6), at(8, 2, 6)}, 2, true).rows == RowsFrom::memory);
    ck_assert(agree_on({at(8, 3, 6), at(8, 3, 6)}, 2, true).rows == RowsFrom::copy);
    ck_assert(agree_on({at(8, 2, 6), at(7, 2, 6)}, 2, true).rows == RowsFrom::copy);
    Position torn = at(8, 2, 6);
    torn.torn = 1;
    ck_assert(agree_on({torn, at(8, 2, 6)}, 2, true).rows == RowsFrom::copy);
}

TEST(the_newest_copy_that_all_of_the_base_have_counts) {
    const Settlement got = agree_on({at(8, 3, 6, 4), at(8, 3, 4, 2)}, 2, true);
    ck_assert(got.rows == RowsFrom::copy);
    ck_assert_uint_eq(got.copy, 4);
    ck_assert_uint_eq(agree_on({at(8, 3, 4, 6), at(8, 3, 6, 4)}, 2, true).copy, 6);
    // an extension's rank has none
    ck_assert_uint_eq(agree_on({at(8, 3, 6), at(8, 3)}, 1, true).copy, 6);
    ck_assert(agree_on({at(8, 3, 6), at(8, 3)}, 2, true).rows == RowsFrom::checkpoint);
}

TEST(nothing_is_loaded_once_a_rank_has_ended_the_training) {
    Position ended = at(8, 3);
    ended.over = 1;
    const Settlement got = agree_on({at(8, 3), ended}, 2, true);
    ck_assert(got.is_over && got.rows == RowsFrom::memory);
}

int main() { return run_all("settlement", 60); }

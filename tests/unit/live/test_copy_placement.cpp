// SPDX-License-Identifier: BSD-3-Clause
// The base keeps a copy of every row, once, and after the loss of any extensions the ranks that
// stay get from it what they hold then. No two ranks wait for each other.
#include <map>

#include "libringrt/live/copy_placement.h"
#include "tests/support/check.h"
#include "tests/support/row_layouts.h"

using namespace ringrt::live;
using namespace ringrt::test;

namespace {

using Parts = std::vector<CopyPart>;

std::vector<Message> sent_by(const Parts &parts, int rank) {
    std::vector<Message> out;
    for (const CopyPart &part : parts)
        if (part.from != part.to && (part.from == rank || part.to == rank))
            out.push_back({part.from, part.to, part.first, part.count});
    return out;
}

// Each row once, at a rank of the base; those of the base where they are; and equally many.
void check_copy(const Parts &parts, const std::vector<RowSpan> &held, int base, uint64_t rows) {
    std::vector<int> times(rows);
    std::vector<uint64_t> kept(static_cast<size_t>(base)), own = kept;
    for (const CopyPart &part : parts) {
        ck_assert(part.count > 0 && part.to >= 0 && part.to < base);
        ck_assert(part.from >= base || part.from == part.to);
        const RowSpan from = held[static_cast<size_t>(part.from)];
        ck_assert(part.first >= from.first && part.first + part.count <= from.first + from.count);
        for (uint64_t row = 0; row < part.count; ++row) ++times[part.first + row];
        kept[static_cast<size_t>(part.to)] += part.count;
        if (part.from == part.to) own[static_cast<size_t>(part.to)] += part.count;
    }
    ck_assert(std::ranges::all_of(times, [](int each) { return each == 1; }));
    const uint64_t least = *std::ranges::min_element(kept);
    for (size_t rank = 0; rank < kept.size(); ++rank)
        ck_assert(kept[rank] == own[rank] || kept[rank] <= least + 1);
    std::vector<std::vector<Message>> queues;
    for (size_t rank = 0; rank < held.size(); ++rank)
        queues.push_back(sent_by(parts, static_cast<int>(rank)));
    ck_assert(all_end(queues));
}

// Two buffers, the second one not divided, go back to these ranks.
void check_return(const Parts &parts, const std::vector<RowSpan> &fresh, uint64_t bytes) {
    const std::vector<std::vector<RowSpan>> wanted{
        fresh, std::vector<RowSpan>(fresh.size(), RowSpan{0, bytes})};
    std::vector<std::vector<Message>> queues;
    for (int rank = 0; rank < static_cast<int>(fresh.size()); ++rank) {
        std::map<std::pair<uint32_t, uint64_t>, int> got;
        std::vector<Message> queue;
        for (const ReturnLeg &leg : legs_back(parts, wanted, rank)) {
            const CopyPart &part = parts[leg.part];
            ck_assert(part.to == rank || leg.receiver == rank);
            ck_assert(common({part.first, part.count}, leg.rows) == leg.rows);
            for (uint64_t row = 0; leg.receiver == rank && row < leg.rows.count; ++row)
                ++got[{part.buffer, leg.rows.first + row}];
            if (part.to != leg.receiver)
                queue.push_back({part.to, leg.receiver, leg.rows.first, leg.rows.count});
        }
        ck_assert_uint_eq(got.size(), fresh[static_cast<size_t>(rank)].count + bytes);
        for (const auto &[place, times] : got) {
            ck_assert_int_eq(times, 1);
            const RowSpan right = wanted[place.first][static_cast<size_t>(rank)];
            ck_assert(place.second >= right.first && place.second < right.first + right.count);
        }
        queues.push_back(std::move(queue));
    }
    ck_assert(all_end(queues));
}

// The sizes of a training's levels, the base's first. The rows of one or more are lost.
void check_sizes(const std::vector<size_t> &sizes, std::mt19937 &random) {
    const uint64_t rows = random() % 60, bytes = random() % 20;
    const int base = static_cast<int>(sizes[0]);
    const size_t ranks = sizes.back();
    const auto held = layout(random, ranks, 1 + random() % ranks, rows);
    Parts parts = copies_of_rows(0, held, base);
    check_copy(parts, held, base, rows);
    const Parts whole = copies_of_whole(1, bytes, base);
    parts.insert(parts.end(), whole.begin(), whole.end());
    for (const size_t left : sizes) check_return(parts, layout(random, left, left, rows), bytes);
}

}  // namespace

TEST(the_base_has_all_after_the_loss_of_any_extension) {
    std::mt19937 random(3);
    for (int i = 0; i < 400; ++i) {
        check_sizes({1, 2, 4, 8}, random);
        check_sizes({2, 3, 5}, random);
        check_sizes({1 + random() % 4, 5 + random() % 4}, random);
        check_sizes({3}, random);  // a base alone, before an extension joins
    }
}

TEST(the_base_keeps_its_own_rows_and_the_rest_evenly) {
    // Rank 0 has more than its share, rank 2 nothing.
    const std::vector<RowSpan> held{{0, 10}, {10, 2}, {12, 0}, {12, 5}, {17, 6}};
    const Parts right{{7, 0, 0, 0, 10}, {7, 1, 1, 10, 2}, {7, 3, 1, 12, 5}, {7, 4, 2, 17, 6}};
    const Parts parts = copies_of_rows(7, held, 3);
    check_copy(parts, held, 3, 23);
    ck_assert_uint_eq(parts.size(), 4);
    ck_assert(parts[2].to == 1 && parts[3].to == 2);
    ck_assert(parts == right);
}

TEST(many_rows_do_not_overflow) {
    const uint64_t half = uint64_t{1} << 59;
    const Parts parts = copies_of_rows(0, {{0, 0}, {0, 0}, {0, half}, {half, half}}, 2);
    const Parts right{{0, 2, 0, 0, half}, {0, 3, 1, half, half}};
    ck_assert(parts == right);
}

int main() { return run_all("copy_placement"); }

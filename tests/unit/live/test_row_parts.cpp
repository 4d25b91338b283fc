// SPDX-License-Identifier: BSD-3-Clause
// Which rows go from which rank to which: each row once, from the rank that holds it, to the one
// that will; and in an order in which no two ranks wait for each other.
#include <algorithm>
#include <map>
#include <random>

#include "tests/support/check.h"
#include "tests/support/row_layouts.h"

using namespace ringrt::live;
using namespace ringrt::test;

namespace {

// The messages of a rank, in its order.
std::vector<Message> messages_of(const std::vector<RowPart> &parts, int rank) {
    std::vector<Message> out;
    for (const RowPart &part : parts) {
        if (part.send && part.receive) continue;
        out.push_back(
            {part.send ? rank : part.peer, part.send ? part.peer : rank, part.first, part.count});
    }
    return out;
}

}  // namespace

TEST(every_row_comes_once_from_its_holder_and_no_rank_waits_forever) {
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
        const size_t ranks = 1 + random() % 8;
        const uint64_t rows = random() % 40;
        const auto held = layout(random, ranks, 1 + random() % ranks, rows);
        const auto fresh = layout(random, ranks, 1 + random() % ranks, rows);
        std::vector<std::vector<Message>> queues;
        for (size_t rank = 0; rank < ranks; ++rank) {
            const auto parts = parts_of(held, fresh, int(rank));
            std::map<uint64_t, int> got;
            for (const RowPart &part : parts) {
                const size_t holder = part.send ? rank : size_t(part.peer);
                ck_assert(part.first >= held[holder].first &&
                          part.first + part.count <= held[holder].first + held[holder].count);
                for (uint64_t r = 0; part.receive && r < part.count; ++r) ++got[part.first + r];
            }
            ck_assert_uint_eq(got.size(), fresh[rank].count);
            for (const auto &[row, times] : got) {
                ck_assert_int_eq(times, 1);
                ck_assert(row >= fresh[rank].first && row < fresh[rank].first + fresh[rank].count);
            }
            queues.push_back(messages_of(parts, int(rank)));
        }
        ck_assert(all_end(queues));
    }
}

TEST(rows_that_stay_are_not_sent) {
    const std::vector<RowSpan> held{{0, 6}, {6, 4}}, fresh{{0, 7}, {7, 3}};
    const std::vector<RowPart> first{
        {.send = true, .receive = true, .peer = 0, .first = 0, .count = 6},
        {.send = false, .receive = true, .peer = 1, .first = 6, .count = 1}};
    ck_assert(parts_of(held, fresh, 0) == first);
    const std::vector<RowPart> second{
        {.send = true, .receive = false, .peer = 0, .first = 6, .count = 1},
        {.send = true, .receive = true, .peer = 1, .first = 7, .count = 3}};
    ck_assert(parts_of(held, fresh, 1) == second);
}

int main() { return ringrt::test::run_all("row_parts"); }

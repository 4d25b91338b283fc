// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/copy_placement.h"

#include <algorithm>

#include "libringrt/base/share.h"

namespace ringrt::live {
namespace {

// How many rows of others each rank of the base keeps, `rest` in total: as water fills a vessel
// with an uneven ground. So the ranks that keep any differ by at most one row.
std::vector<uint64_t> room_of(const std::vector<uint64_t> &own, uint64_t rest) {
    auto room = [&](uint64_t level) {  // up to `rest`, so that it cannot overflow
        uint64_t out = 0;
        for (size_t r = 0; r < own.size() && out < rest; ++r)
            out += level > own[r] ? level - own[r] : 0;
        return out;
    };
    uint64_t low = 0, high = *std::ranges::max_element(own) + rest;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        room(middle) >= rest ? high = middle : low = middle + 1;
    }
    if (high > 0) rest -= room(--high);
    std::vector<uint64_t> out;
    for (const uint64_t each : own) {
        const bool one_more = rest > 0 && each <= high;
        out.push_back((high > each ? high - each : 0) + (one_more ? 1 : 0));
        if (one_more) --rest;
    }
    return out;
}

}  // namespace

std::vector<CopyPart> copies_of_rows(uint32_t buffer, const std::vector<RowSpan> &held, int base) {
    std::vector<CopyPart> out;
    std::vector<uint64_t> own;
    uint64_t rest = 0;
    for (int rank = 0; rank < static_cast<int>(held.size()); ++rank) {
        const RowSpan rows = held[static_cast<size_t>(rank)];
        if (rank >= base) {
            rest += rows.count;
            continue;
        }
        own.push_back(rows.count);
        if (rows.count > 0) out.push_back({buffer, rank, rank, rows.first, rows.count});
    }
    std::vector<uint64_t> room = room_of(own, rest);
    int to = 0;
    for (int from = base; from < static_cast<int>(held.size()); ++from) {
        auto [first, count] = held[static_cast<size_t>(from)];
        while (count > 0) {
            while (room[static_cast<size_t>(to)] == 0) ++to;
            const uint64_t some = std::min(count, room[static_cast<size_t>(to)]);
            out.push_back({buffer, from, to, first, some});
            first += some, count -= some, room[static_cast<size_t>(to)] -= some;
        }
    }
    return out;
}

std::vector<CopyPart> copies_of_whole(uint32_t buffer, uint64_t bytes, int base) {
    std::vector<CopyPart> out;
    for (int rank = 0; rank < base; ++rank) {
        const Share mine = share(bytes, base, rank);
        if (mine.count > 0) out.push_back({buffer, rank, rank, mine.first, mine.count});
    }
    return out;
}

std::vector<ReturnLeg> legs_back(const std::vector<CopyPart> &parts,
                                 const std::vector<std::vector<RowSpan>> &wanted, int rank) {
    std::vector<ReturnLeg> out;
    for (size_t i = 0; i < parts.size(); ++i) {
        const std::vector<RowSpan> &all = wanted[parts[i].buffer];
        const int ranks = static_cast<int>(all.size());
        const bool keeps = parts[i].to == rank;
        for (int r = keeps ? 0 : rank; r < (keeps ? ranks : rank + 1); ++r) {
            const RowSpan rows =
                common({parts[i].first, parts[i].count}, all[static_cast<size_t>(r)]);
            if (rows.count > 0) out.push_back({i, r, rows});
        }
    }
    return out;
}

}  // namespace ringrt::live

// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bootstrap/rank_tree.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "libringrt/base/wire_string.h"
#include "libringrt/bootstrap/handshake.h"

namespace ringrt {
namespace {

constexpr int kPollMs = 50;
constexpr int kChildren = 16;                    // of a rank in the tree
constexpr std::chrono::seconds kRetryFor(5);     // its parent may have dropped the connection
constexpr std::chrono::milliseconds kPause(20);  // before the next try

// A rank's endpoint; also what rank 0 refers a rank to.
struct Reference {
    int32_t rank;
    int32_t port;
    char addresses[640];  // separated by blanks
};

int parent_of(int rank, int size) { return size <= kStarRanks ? 0 : (rank - 1) / kChildren; }

std::vector<int> children_of(int rank, int size) {
    std::vector<int> ranks;
    const bool star = size <= kStarRanks;
    if (star && rank > 0) return ranks;
    const int64_t first = int64_t(rank) * (star ? 0 : kChildren) + 1;
    for (int64_t r = first; r < size && (star || r < first + kChildren); ++r)
        ranks.push_back(int(r));
    return ranks;
}

// Lists ranks as in "1, 3-5 and 9 more".
std::string list_ranks(const std::vector<int> &ranks) {
    std::string text;
    size_t shown = 0, i = 0;
    while (i < ranks.size() && shown < 8) {
        size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (!text.empty()) text += ", ";
        text += std::to_string(ranks[i]);
        if (last > i) text += "-" + std::to_string(ranks[last]);
        i = last + 1;
        ++shown;
    }
    if (i < ranks.size()) text += " and " + std::to_string(ranks.size() - i) + " more";
    return text;
}

}  // namespace

Status RankTree::accept_all(Fd listener, const std::vector<int> &ranks, std::vector<Child> *out) {
    std::map<int, Fd> found;
    size_t next = 0;  // those before it are found: no search among thousands for each arrival
    Acceptor acceptor(std::move(listener), secret_, Purpose::Start, self_);
    for (;;) {
        while (next < ranks.size() && found.contains(ranks[next])) ++next;
        if (next == ranks.size()) break;
        Status status = deadline_->check(ranks[next]);
        if (status.code == RINGRT_TIMEOUT) {
            std::vector<int> missing;
            for (int r : ranks)
                if (!found.contains(r)) missing.push_back(r);
            status.message = format_text(
                "rank %d: rank%s %s of %d did not connect within %.0f s of start-up; "
                "were all started, and do they share the rendezvous directory?",
                self_.rank, missing.size() > 1 ? "s" : "", list_ranks(missing).c_str(), self_.size,
                double(deadline_->waited_ms()) / 1e3);
        }
        RINGRT_TRY(std::move(status));
        std::vector<Acceptor::Accepted> arrivals;
        RINGRT_TRY(acceptor.serve(kPollMs, &arrivals));
        for (Acceptor::Accepted &each : arrivals) found[each.rank] = std::move(each.fd);
    }
    for (int r : ranks) out->push_back({r, std::move(found[r])});
    return {};
}

Status RankTree::open_as_hub(Fd listener, const Secret &secret) {
    secret_ = secret;
    std::vector<int> others;
    for (int r = 1; r < self_.size; ++r) others.push_back(r);
    RINGRT_TRY(accept_all(std::move(listener), others, &children_));
    return self_.size > kStarRanks ? refer_members() : Status{};
}

// Rank 0: refers each member to its parent. Its own children stay.
Status RankTree::refer_members() {
    std::vector<Reference> all(size_t(self_.size));
    for (const Child &each : children_)
        RINGRT_TRY(
            read_all(each.fd.get(), message_bytes(all[size_t(each.rank)]), deadline_, each.rank));
    for (const Child &each : children_) {
        Reference to = all[size_t(parent_of(each.rank, self_.size))];
        to.rank = parent_of(each.rank, self_.size);
        RINGRT_TRY(write_all(each.fd.get(), message_bytes(to), deadline_, each.rank));
    }
    const size_t own = children_of(0, self_.size).size();
    children_.erase(children_.begin() + ptrdiff_t(own), children_.end());
    return {};
}

Status RankTree::open_as_member(Fd hub, const Secret &secret) {
    secret_ = secret;
    if (self_.size > kStarRanks) return join_parent(std::move(hub));
    parent_ = std::move(hub);
    return {};
}

Status RankTree::join_parent(Fd hub) {
    Fd listener;
    Reference mine{.rank = self_.rank, .port = 0, .addresses = {}}, to{};
    RINGRT_TRY(listen_on(&mine.port, &listener));
    put(mine.addresses, join_addresses(own_addresses(), sizeof mine.addresses));
    RINGRT_TRY(write_all(hub.get(), message_bytes(mine), deadline_, 0));
    RINGRT_TRY(read_all(hub.get(), message_bytes(to), deadline_, 0));
    parent_rank_ = to.rank;
    parent_ = std::move(hub);
    const Endpoint endpoint{split_addresses(get(to.addresses)), to.port};
    // The parent listens, but answers only when it has its own parent.
    for (std::optional<Clock::time_point> failing_since; parent_rank_ != 0;) {
        const std::chrono::milliseconds left(deadline_->left_ms());
        Status met = connect_to(endpoint, deadline_, parent_rank_, &parent_);
        if (met.ok())
            met = connect_handshake(parent_.get(), secret_, Purpose::Start, self_, parent_rank_,
                                    left);
        if (met.ok()) break;
        if (!failing_since) failing_since = Clock::now();
        if (Clock::now() - *failing_since > kRetryFor) return met;
        RINGRT_TRY(deadline_->check(parent_rank_));
        std::this_thread::sleep_for(kPause);
    }
    return accept_all(std::move(listener), children_of(self_.rank, self_.size), &children_);
}

// Up the tree: the number of ranks, and for each its number and its bytes. Down: the number of
// bytes, and the bytes.
Status RankTree::spread(std::span<const std::byte> mine, const Merge &merge,
                        std::vector<std::byte> *merged) {
    const size_t record = sizeof(int32_t) + mine.size();
    std::vector<std::byte> up(sizeof(uint32_t) + record);
    const auto own = int32_t(self_.rank);
    memcpy(up.data() + sizeof(uint32_t), &own, sizeof own);
    std::copy(mine.begin(), mine.end(), up.begin() + sizeof(uint32_t) + sizeof own);
    for (const Child &each : children_) {
        uint32_t count = 0;
        RINGRT_TRY(read_all(each.fd.get(), message_bytes(count), deadline_, each.rank));
        if (count >= uint32_t(self_.size))
            return {RINGRT_MISMATCH, format_text("rank %d: rank %d sent an invalid number of ranks",
                                                 self_.rank, each.rank)};
        const size_t before = up.size();
        up.resize(before + count * record);
        RINGRT_TRY(read_all(each.fd.get(), std::span(up).subspan(before), deadline_, each.rank));
    }
    const auto count = uint32_t((up.size() - sizeof(uint32_t)) / record);
    memcpy(up.data(), &count, sizeof count);
    uint64_t bytes = 0;
    if (self_.rank != 0) {
        RINGRT_TRY(write_all(parent_.get(), up, deadline_, parent_rank_));
        RINGRT_TRY(read_all(parent_.get(), message_bytes(bytes), deadline_, parent_rank_));
        merged->resize(bytes);
        RINGRT_TRY(read_all(parent_.get(), *merged, deadline_, parent_rank_));
    } else {
        std::vector<std::byte> all(mine.size() * size_t(self_.size));
        for (size_t i = 0; i < count; ++i) {
            const std::byte *from = up.data() + sizeof(uint32_t) + i * record;
            int32_t rank = 0;
            memcpy(&rank, from, sizeof rank);
            if (rank < 0 || rank >= self_.size)
                return {RINGRT_MISMATCH, "rank 0: a report has an invalid rank"};
            std::copy_n(from + sizeof rank, mine.size(),
                        all.begin() + ptrdiff_t(mine.size() * size_t(rank)));
        }
        *merged = merge(all);
    }
    bytes = merged->size();
    for (const Child &each : children_) {
        RINGRT_TRY(write_all(each.fd.get(), message_bytes(bytes), deadline_, each.rank));
        RINGRT_TRY(write_all(each.fd.get(), *merged, deadline_, each.rank));
    }
    return {};
}

}  // namespace ringrt

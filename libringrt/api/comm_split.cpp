// SPDX-License-Identifier: BSD-3-Clause
// Splits a communicator. The parent gives each rank the members of its part, and carries the
// rendezvous address of the part's rank 0.
#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "libringrt/api/comm.h"

namespace ringrt {
namespace {

struct SplitRequest {
    int32_t color, key;
};

struct RendezvousText {
    char text[RINGRT_STORE_VALUE_BYTES];
};

// Ranks of the parent with this rank's color, ordered by their new ranks.
std::vector<int> members_of(const std::vector<SplitRequest> &requests, int32_t color) {
    std::vector<int> members;
    for (size_t rank = 0; rank < requests.size(); ++rank)
        if (requests[rank].color == color) members.push_back(static_cast<int>(rank));
    std::sort(members.begin(), members.end(), [&](int a, int b) {
        return std::tuple(requests[static_cast<size_t>(a)].key, a) <
               std::tuple(requests[static_cast<size_t>(b)].key, b);
    });
    return members;
}

// The one all-gather over the parent. Every rank takes part in it, even if forming its part fails.
class Invitations {
  public:
    explicit Invitations(Communicator &parent) : parent_(parent) {}
    Status exchange(const std::string &mine) {
        if (exchanged_) return {};
        exchanged_ = true;
        all_.resize(static_cast<size_t>(parent_.size()));
        RendezvousText own{};
        std::copy_n(mine.data(), std::min(mine.size(), sizeof own.text - 1), own.text);
        return parent_.outcome(parent_.all_gather(&own, all_.data(), sizeof(RendezvousText)));
    }
    [[nodiscard]] std::string of(int rank) const {
        const char *text = all_[static_cast<size_t>(rank)].text;
        return {text, strnlen(text, sizeof(RendezvousText::text))};
    }

  private:
    Communicator &parent_;
    std::vector<RendezvousText> all_;
    bool exchanged_ = false;
};

// Creates the handle of this rank's part. Collective over `parent`.
Status split_comm(ringrt_comm_t &parent, int color, int key, ringrt_comm_t **out) {
    Communicator &all = parent.communicator;
    const SplitRequest mine{color, key};
    std::vector<SplitRequest> requests(static_cast<size_t>(all.size()));
    RINGRT_TRY(all.outcome(all.all_gather(&mine, requests.data(), sizeof mine)));
    Invitations invitations(all);
    Status met;
    ringrt_comm_t *made = nullptr;
    if (color != RINGRT_COMM_NO_COLOR) {
        const std::vector<int> members = members_of(requests, color);
        CommunicatorConfig config;
        config.size = static_cast<int>(members.size());
        config.rank = static_cast<int>(std::find(members.begin(), members.end(), all.rank()) -
                                       members.begin());
        config.timeout_ms = parent.timeout_ms;
        config.start_timeout_ms = parent.start_timeout_ms;
        config.store = {.put = [&](const std::string &text) { return invitations.exchange(text); },
                        .get = [&, root = members.front()](uint32_t, std::string *text) -> Status {
                            RINGRT_TRY(invitations.exchange(""));
                            *text = invitations.of(root);
                            return {};
                        }};
        met = open_comm(config, &made);
    }
    Status sent = invitations.exchange("");  // for ranks without a part, or alone in theirs
    if (!sent.ok() && made) {
        (void)ringrt_comm_abort(made);
        (void)ringrt_comm_destroy(made);
    }
    if (met.ok()) met = std::move(sent);
    if (met.ok()) *out = made;
    return met;
}

}  // namespace
}  // namespace ringrt

using namespace ringrt;

extern "C" ringrt_status_t ringrt_comm_split(ringrt_comm_t *comm, int color, int key,
                                             ringrt_comm_t **out) {
    return guard(comm, [&] {
        if (!out) return invalid("out is NULL");
        if (comm->group) return invalid("a communicator cannot be split within a group");
        if (color < 0 && color != RINGRT_COMM_NO_COLOR)
            return invalid("color: expected RINGRT_COMM_NO_COLOR, or 0 and more");
        return comm->queue.run([&] { return split_comm(*comm, color, key, out); });
    });
}

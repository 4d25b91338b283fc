// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/peers.h"

#include <algorithm>
#include <cstring>

namespace ringrt::checkpoint {

Verdict Verdict::of(const Outcome &outcome) {
    Verdict verdict{.status = outcome.status};
    size_t length = std::min(outcome.message.size(), sizeof verdict.message - 1);
    std::memcpy(verdict.message, outcome.message.data(), length);
    return verdict;
}

Outcome Verdict::outcome() const {
    return {static_cast<ringrt_status_t>(status),
            std::string(message, strnlen(message, sizeof message))};
}

Outcome vote(Peers &peers, const Outcome &mine) {
    std::vector<Verdict> all;
    if (Outcome gathered = gather(peers, Verdict::of(mine), all); !gathered.ok()) return gathered;
    for (const Verdict &verdict : all)
        if (verdict.status != RINGRT_OK) return verdict.outcome();
    return {};
}

Outcome follow(Peers &peers, const Outcome &of_rank_0) {
    Verdict verdict = Verdict::of(of_rank_0);
    if (Outcome sent = broadcast(peers, verdict); !sent.ok()) return sent;
    return verdict.outcome();
}

}  // namespace ringrt::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// Bootstrap: lets all ranks of a job exchange a few bytes. Start-up is a handful of these
// exchanges; afterwards the transports carry everything.
//
// All ranks report to rank 0, which shows them what all need to know. Up to kStarRanks ranks do so
// over a connection to rank 0. More ranks form a tree: rank 0 refers each rank to its parent, so
// that rank 0 sends only a few copies.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libringrt/base/deadline.h"
#include "libringrt/bootstrap/siphash.h"
#include "libringrt/bootstrap/text_store.h"

namespace ringrt {

inline constexpr int kStarRanks = 64;

class Bootstrap {
  public:
    virtual ~Bootstrap() = default;
    // Makes what all ranks need to know of all ranks' bytes, which are in rank order.
    using Merge = std::function<std::vector<std::byte>(std::span<const std::byte> all)>;
    // Collective. `mine` must have the same size on all ranks. Rank 0 calls `merge` (others may,
    // with the same bytes), and all ranks get its result.
    virtual Status spread(std::span<const std::byte> mine, const Merge &merge,
                          std::vector<std::byte> *merged) = 0;
    [[nodiscard]] const Secret &secret() const { return secret_; }

  protected:
    Secret secret_{};  // of this job; the same on all ranks
};

// `where` is "tcp:HOST:PORT" (then RINGRT_SECRET must be set, 32 hexadecimal digits) or the path of
// the rendezvous file. Rank 0 listens there.
Status open_bootstrap(const RankContext &self, const std::string &where, Deadline *deadline,
                      std::unique_ptr<Bootstrap> *out);

// `store` carries a text with rank 0's endpoint.
Status open_bootstrap(const RankContext &self, const TextStore &store, Deadline *deadline,
                      std::unique_ptr<Bootstrap> *out);

// Uses the caller's allgather.
Status open_bootstrap(const RankContext &self, ringrt_allgather_fn allgather, void *context,
                      std::unique_ptr<Bootstrap> *out);

}  // namespace ringrt

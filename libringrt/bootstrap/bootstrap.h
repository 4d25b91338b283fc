// SPDX-License-Identifier: BSD-3-Clause
// Bootstrap: lets all ranks of a job exchange a few bytes. Start-up is a handful of these
// exchanges; afterwards the transports carry everything.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libringrt/base/deadline.h"
#include "libringrt/bootstrap/siphash.h"
#include "libringrt/bootstrap/text_store.h"

namespace ringrt {

class Bootstrap {
  public:
    virtual ~Bootstrap() = default;
    // Collective. `mine` must have the same size on all ranks; *all gets size·mine.size() bytes.
    virtual Status exchange(std::span<const std::byte> mine, std::vector<std::byte> *all) = 0;
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

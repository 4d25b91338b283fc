// SPDX-License-Identifier: BSD-3-Clause
// Meeting: all ranks of a job can exchange a few bytes. Start-up is a handful of these exchanges;
// after it the meeting is over and the transports carry everything.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libringrt/rendezvous/siphash.h"
#include "libringrt/transport/patience.h"

namespace ringrt {

class Meeting {
  public:
    virtual ~Meeting() = default;
    // Collective. `mine` has the same size on all ranks; *all gets size·mine.size() bytes.
    virtual Status exchange(std::span<const std::byte> mine, std::vector<std::byte> *all) = 0;
    [[nodiscard]] const Secret &secret() const { return secret_; }

  protected:
    Secret secret_{};  // of this job, the same on all ranks
};

// `where` is "tcp:HOST:PORT" (then RINGRT_SECRET must be set, 32 hexadecimal digits) or the path of
// the rendezvous file. Rank 0 waits there for the others.
Status meet(const World &world, const std::string &where, Patience *patience,
            std::unique_ptr<Meeting> *out);

// Through the caller's own allgather.
Status meet(const World &world, ringrt_allgather_fn allgather, void *context,
            std::unique_ptr<Meeting> *out);

}  // namespace ringrt

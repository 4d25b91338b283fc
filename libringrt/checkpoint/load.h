// SPDX-License-Identifier: BSD-3-Clause
// Loading, by all ranks together, at any number of ranks.
#pragma once

#include <vector>

#include "libringrt/checkpoint/peers.h"
#include "libringrt/checkpoint/store.h"

namespace ringrt::checkpoint {

// Collective. Tries LATEST, else newest to oldest; checks everything; sets damaged ones aside with
// a line in the log. The outcome is the same on all ranks:
//   ok           the buffers are filled, `out` tells of what
//   NOT_FOUND    there is no checkpoint, and there was none
//   CORRUPT      there were some, and all are damaged; the message names them
//   MISMATCH     a whole checkpoint of other parameters: nothing is set aside
//   SUPERSEDED   a newer incarnation holds the folder
// On anything but ok and NOT_FOUND the buffers' contents are undefined. `buffers` are in the order
// of their names; `store` is used on rank 0 only.
Outcome load(Peers &peers, Store &store, const std::vector<Buffer> &buffers, Manifest &out);

// This rank's part of the checkpoint `name` in `store`, whose manifest was read; nothing is set aside.
Outcome load_from(Store &store, const std::string &name, const std::string &manifest_text,
                  const std::vector<Buffer> &buffers, Manifest &manifest);

}  // namespace ringrt::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// Loading, by all ranks together, at any number of ranks.
#pragma once

#include <functional>
#include <vector>

#include "libringrt/base/group.h"
#include "libringrt/checkpoint/store.h"

namespace ringrt::checkpoint {

// Seconds before each further try at a checkpoint that some rank cannot read though it may be
// whole.
using Pauses = std::vector<double>;
inline const Pauses kPauses_s = {1, 4, 10};

// `what` until it is something else than SYSTEM_ERROR or CHECKPOINT_FAILED, which become
// SYSTEM_ERROR; with a line in the log before each pause.
Status with_retries(const Pauses &pauses_s, const std::function<Status()> &what);

// Collective. Tries LATEST, else newest to oldest; checks everything. One that rank 0 too finds
// damaged is set aside with a line in the log; one that it reads, or that nobody can read just now,
// is tried again, and then ends the load: what is not proved damaged stays, and no older one is
// taken in its place. The outcome is the same on all ranks:
//   ok            the buffers are filled, `out` tells of what
//   NOT_FOUND     there is no checkpoint, and there was none
//   CORRUPT       there were some, and all are damaged; the message names them
//   SYSTEM_ERROR  it cannot be read; the message says by whom. Nothing was changed
//   MISMATCH      a whole checkpoint of other parameters: nothing is set aside
//   SUPERSEDED    a newer incarnation holds the folder
// On anything but ok and NOT_FOUND the buffers' contents are undefined. `buffers` are in the order
// of their names; `store` is used on rank 0 only.
Status load(Group &group, Store &store, const std::vector<Buffer> &buffers, Manifest &out,
            const Pauses &pauses_s = kPauses_s);

// A checkpoint that is damaged, or cannot be read: another one may do.
[[nodiscard]] bool is_unusable(const Status &outcome);

// How one rank's part of a load ended.
struct Part {
    Status outcome;
    int32_t shard = -1;      // which of the manifest's it failed at
    bool by_device = false;  // a GPU failed: no other try, nor another checkpoint, helps
};

// This rank's part of the checkpoint `name` in `store`, whose manifest was read; nothing is set
// aside.
Part load_from(Store &store, const std::string &name, const std::string &manifest_text,
               const std::vector<Buffer> &buffers, Manifest &manifest);

}  // namespace ringrt::checkpoint

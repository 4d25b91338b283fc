// SPDX-License-Identifier: BSD-3-Clause
// Loads a checkpoint. Collective, at any number of ranks.
#pragma once

#include <functional>
#include <vector>

#include "libringrt/base/group.h"
#include "libringrt/checkpoint/store.h"

namespace ringrt::checkpoint {

// Seconds before each retry of a checkpoint that a rank cannot read but that may be intact.
using Pauses = std::vector<double>;
inline const Pauses kPauses_s = {1, 4, 10};

// Runs `what` until it returns anything but SYSTEM_ERROR or CHECKPOINT_FAILED; the last failure is
// returned as SYSTEM_ERROR. Logs a line before each pause.
Status with_retries(const Pauses &pauses_s, const std::function<Status()> &what);

// Collective. Tries LATEST, then newest to oldest, and checks everything. A checkpoint that rank 0
// also finds damaged is set aside, with a log line. If rank 0 can read it, or no rank can read it
// now, the load retries and then fails: a checkpoint not proven damaged is kept, and no older one
// replaces it. The outcome is the same on all ranks:
//   ok            the buffers are filled, `out` describes the checkpoint
//   NOT_FOUND     there is no checkpoint, and none was set aside
//   CORRUPT       there were checkpoints, and all are damaged; the message names them
//   SYSTEM_ERROR  it cannot be read; the message names the rank. Nothing was changed
//   MISMATCH      an intact checkpoint of other parameters: nothing is set aside
//   SUPERSEDED    a newer incarnation holds the directory
// After any other outcome than ok and NOT_FOUND, the buffers' contents are undefined. `buffers` are
// sorted by name; `store` is used only on rank 0.
// With `rest`, the checkpoint may hold more than `buffers`; that is checked as well, each part by
// one rank, so that damage in it also makes a load use an older checkpoint.
struct Rest;
Status load(Group &group, Store &store, const std::vector<Buffer> &buffers, Manifest &out,
            const Pauses &pauses_s = kPauses_s, Rest *rest = nullptr);

// What a load has left in the checkpoint, to be read later.
struct Rest {
    std::string directory;
    Manifest manifest;
    std::vector<std::vector<uint32_t>> shards;  // per parameter: indices of those that hold it

    [[nodiscard]] const Parameter *find(const std::string &name) const;
};

// Not collective. Fills a buffer that was registered after the load, if the checkpoint holds it.
// MISMATCH if it has another type or shape there; CORRUPT if the checkpoint was damaged since.
Status load_late(Files &files, const Rest &rest, const Buffer &buffer,
                 const Pauses &pauses_s = kPauses_s);

// Not collective. The part of a blob that this rank of the checkpoint saved; a rank that saved none
// has an empty part. NOT_FOUND if there is no such blob or rank.
Status load_blob(Files &files, const Rest &rest, const std::string &name, uint32_t rank,
                 std::vector<std::byte> &out, const Pauses &pauses_s = kPauses_s);

// The checkpoint is damaged or unreadable: another one may be usable.
[[nodiscard]] bool is_unusable(const Status &outcome);

// MISMATCH unless a saved parameter can be read as the one registered here.
Status check_same(const Parameter &saved, const Parameter &here);

// The outcome of one rank's part of a load.
struct Part {
    Status outcome;
    int32_t shard = -1;      // index into the manifest's shards of the one that failed
    bool by_device = false;  // a GPU failed: neither a retry nor another checkpoint helps
};

// Loads this rank's part of checkpoint `name` in `store`, whose manifest was read. Sets nothing
// aside.
Part load_from(Store &store, const std::string &name, const std::string &manifest_text,
               const std::vector<Buffer> &buffers, Manifest &manifest);
// With `rest` this rank also checks its share of what `buffers` do not hold.
Part load_from(Group &group, Store &store, const std::string &name,
               const std::string &manifest_text, const std::vector<Buffer> &buffers,
               Manifest &manifest, Rest *rest);

}  // namespace ringrt::checkpoint

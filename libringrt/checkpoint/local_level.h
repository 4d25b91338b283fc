// SPDX-License-Identifier: BSD-3-Clause
// The fast level below the shared folder: a folder on each node (NVMe), into which the ranks of
// that node write a whole checkpoint of their own, with its own claim and commit (store.h).
//
// It is there for what happens between two saves to a slow shared file system: ranks that die, a
// requeue onto the same nodes. A checkpoint counts only where every node of the present run has a
// whole copy of the very same save; a node that is new, or that lost its disk, has none, and the
// shared level is loaded. So a resize still waits for the shared level: nobody knows where the job
// will be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libringrt/checkpoint/load.h"
#include "libringrt/checkpoint/save.h"

namespace ringrt::checkpoint {

class LocalLevel {
  public:
    // `folder` empty: this rank has no such level. `node`: the same on the ranks of one node only.
    LocalLevel(Group &group, Files &files, const std::string &folder, const std::string &node,
               Fence fence, LayoutOptions options);

    // Collective, once, before all else. The level is there only where every rank has a folder.
    Status join();
    [[nodiscard]] bool is_there() const { return there_; }

    // Collective; returns when the checkpoint is on every node's disk. CHECKPOINT_FAILED: it is not
    // on all of them, which costs nothing but this level. The outcome is the same on all ranks.
    Status save(const std::vector<Buffer> &buffers, const Meta &meta);

    // Collective. The step of the newest checkpoint of which every node has a copy; nullopt: none.
    Status newest(std::optional<uint64_t> &step);

    // Collective, after newest() named one: loads it. CORRUPT: set aside; on anything but ok the
    // contents are undefined.
    Status load(const std::vector<Buffer> &buffers, Manifest &out);

  private:
    [[nodiscard]] bool leads() const { return node_rank_ == 0; }
    Status begin(uint64_t step, uint64_t bytes, std::string &fresh);
    Status write(const std::vector<Buffer> &buffers, const std::string &fresh, Shard &shard);
    Status commit(const std::string &fresh, const std::vector<Buffer> &buffers, const Meta &meta,
                  std::vector<Shard> shards);
    Status follow_manifest(std::string &manifest_text, Manifest &out);

    Group &group_;
    Store store_;  // written by the first rank of each node only
    LayoutOptions options_;
    uint64_t node_ = 0;
    bool there_ = false;
    int nodes_ = 0;
    int first_ = 0, node_rank_ = 0, node_size_ = 1;  // of this rank's node
    std::vector<uint64_t> node_of_;                  // per rank
    std::string name_;                               // what newest() found here
};

// Collective. The newest checkpoint of both levels that is whole; `local` may be nullptr. As
// load().
Status load_newest(Group &group, LocalLevel *local, Store &shared,
                   const std::vector<Buffer> &buffers, Manifest &out,
                   const Pauses &pauses_s = kPauses_s);

}  // namespace ringrt::checkpoint

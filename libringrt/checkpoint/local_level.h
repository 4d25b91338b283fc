// SPDX-License-Identifier: BSD-3-Clause
// The fast level below the shared directory: a directory on each node (NVMe). The ranks of a node
// write a whole checkpoint into it, with its own claim and commit (store.h).
//
// It covers failures between two saves to a slow shared file system: lost ranks, or a requeue onto
// the same nodes. A checkpoint is valid only if every node of the current run has a whole copy of
// the same save. A new node, or one that lost its disk, has none; then the shared level is loaded.
// A resize therefore still waits for the shared level: the job's next nodes are unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libringrt/checkpoint/load.h"
#include "libringrt/checkpoint/save.h"

namespace ringrt::checkpoint {

class LocalLevel {
  public:
    // `directory` empty: this rank has no local level. `node`: equal only on the ranks of one node.
    LocalLevel(Group &group, Files &files, const std::string &directory, const std::string &node,
               Fence fence, LayoutOptions options);

    // Collective, once, before all other calls. The level exists only if every rank has a
    // directory.
    Status join();
    [[nodiscard]] bool is_there() const { return there_; }

    // Collective. Returns when the checkpoint is on every node's disk. CHECKPOINT_FAILED: at least
    // one node has no copy; only this level is affected. The outcome is the same on all ranks.
    Status save(const std::vector<Buffer> &buffers, const Meta &meta);

    // Collective. The step of the newest checkpoint that every node has; nullopt: none.
    Status newest(std::optional<uint64_t> &step);

    // Collective, after newest() returned a step: loads it. CORRUPT: set aside. After any outcome
    // but ok, the contents are undefined.
    Status load(const std::vector<Buffer> &buffers, Manifest &out);

  private:
    [[nodiscard]] bool leads() const { return node_rank_ == 0; }
    Status begin(uint64_t step, uint64_t bytes, std::string &fresh);
    Status begin_all(uint64_t step, uint64_t bytes, std::string &fresh, Status &worst);
    Status write(const std::vector<Buffer> &buffers, const std::string &fresh, Shard &shard);
    Status write_all(const std::vector<Buffer> &buffers, const std::string &fresh, Status &worst,
                     std::vector<Shard> &shards);
    Status commit(const std::string &fresh, const std::vector<Buffer> &buffers, const Meta &meta,
                  std::vector<Shard> shards);
    Status follow_manifest(std::string &manifest_text, Manifest &out);

    Group &group_;
    Store store_;  // only the first rank of each node writes it
    LayoutOptions options_;
    uint64_t node_ = 0;
    bool there_ = false;
    int nodes_ = 0;
    int first_ = 0, node_rank_ = 0, node_size_ = 1;  // of this rank's node
    std::vector<uint64_t> node_of_;                  // per rank
    std::string name_;                               // the name that newest() found here
};

// Collective. Loads the newest intact checkpoint of both levels; `local` may be nullptr. Outcomes
// as for load().
Status load_newest(Group &group, LocalLevel *local, Store &shared,
                   const std::vector<Buffer> &buffers, Manifest &out,
                   const Pauses &pauses_s = kPauses_s);

}  // namespace ringrt::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// The directory of a job's checkpoints. Only rank 0 uses it.
//
//     fence-4-77-3-9f3c5a1e…      the incarnation that may write (fence.h)
//     LATEST                      names the newest committed checkpoint
//     step-000000001200/          manifest, shard-00000, shard-00001, …
//     step-000000001100.bad/      damaged, kept for inspection
//     .tmp-<nonce>-1200/          being written
//     .latest-<nonce>             the next LATEST
//
// Fencing: a new incarnation first creates its fence- file, then removes all .latest-*, renames and
// removes all .tmp-*, then lists the checkpoints. An old incarnation that is still alive checks for
// newer fences after its .tmp-* and .latest-* exist and before it renames them. So either it
// committed before the new one listed the directory, or it sees the new fence, or its rename finds
// no file. No order of events lets both commit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libringrt/base/group.h"
#include "libringrt/checkpoint/files.h"
#include "libringrt/checkpoint/manifest.h"

namespace ringrt::checkpoint {

class Store {
  public:
    Store(Files &files, std::string directory, Fence fence, size_t keep)
        : files_(files), directory_(std::move(directory)), fence_(fence), keep_(keep) {}

    const std::string &directory() const { return directory_; }
    const Fence &fence() const { return fence_; }
    Files &files() { return files_; }

    // Makes this incarnation the one that may write. Later calls only check. RINGRT_SUPERSEDED if a
    // newer one exists.
    Status claim();
    Status check_fence();

    // CHECKPOINT_FAILED if `bytes` do not fit.
    Status check_space(uint64_t bytes);

    // Creates the empty directory for a save at `step`; `fresh` is its name in directory().
    Status begin(uint64_t step, std::string &fresh);

    // Commits: manifest, sync, rename into place, sync, LATEST the same way; then rotates: *old
    // gets the paths of directories to remove, which no longer have a checkpoint's name. claim() of
    // the next incarnation removes what is left.
    Status commit(const std::string &fresh, const Manifest &manifest,
                  std::vector<std::string> *old);
    void discard(const std::string &fresh);  // after a failed save

    // Directory names to try in order: the one in LATEST, then newest to oldest.
    Status candidates(std::vector<std::string> &names);
    // claim(), then candidates(): no older incarnation commits afterwards.
    Status claim_and_look(std::vector<std::string> &names);
    // Names of the directories set aside.
    std::vector<std::string> set_aside_names();

    // Reads and checks the manifest of `name`, against LATEST's hash if LATEST names it. Checks the
    // program's files against the manifest.
    Status read_manifest(const std::string &name, std::string &manifest_text);

    // Renames a damaged checkpoint to ….bad.
    void quarantine(const std::string &name);

    // Call after claim(). This run continues from `name`: rotation never deletes it, and LATEST
    // names it from now on (best effort: a full disk must not stop a load).
    void started_from(const std::string &name, uint64_t manifest_hash);
    const std::string &started_from() const { return started_from_; }

  private:
    std::string at(const std::string &name) const { return directory_ + "/" + name; }
    Status make_claim();
    void remove_leftovers();
    std::string free_name(uint64_t step);
    Status write_latest(const Latest &latest);
    Status prepare_latest(const Latest &latest);
    Status publish_latest();
    std::vector<std::string> rotate();
    std::optional<Latest> read_latest();

    Files &files_;
    std::string directory_;
    Fence fence_;
    size_t keep_;
    std::optional<Claim> claim_;
    std::string started_from_;
};

// Collective. Rank 0 draws the nonce, so that all ranks have the same fence.
Status make_fence(Group &group, uint64_t job, uint32_t restart, Fence &out);

// The step in "step-000000001200" or "step-000000001200.1"; nullopt for any other name.
[[nodiscard]] std::optional<uint64_t> step_of(const std::string &name);

}  // namespace ringrt::checkpoint

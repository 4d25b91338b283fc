// SPDX-License-Identifier: BSD-3-Clause
// Saving, by all ranks together:
//
//     start()   agree on what is saved; rank 0: fence, free space, a fresh folder; the program's
//               own files, on this thread (program_files.h)
//     (write)   every rank its shard: inline, or from a copy on a thread while training goes on
//     finish()  all ranks agree; rank 0 writes the manifest and renames the folder into place
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "libringrt/base/group.h"
#include "libringrt/checkpoint/program_files.h"
#include "libringrt/checkpoint/shard.h"
#include "libringrt/checkpoint/store.h"

namespace ringrt::checkpoint {

// What a checkpoint tells besides the parameters.
struct Meta {
    uint64_t step = 0;
    uint64_t samples = 0;
    uint64_t seed = 0;
    uint32_t batch = 0;         // Manifest::batch
    std::vector<Speed> speeds;  // as on rank 0
    std::string gradients{};    // as on rank 0
    std::string losses{};       // as on rank 0
};

enum class SaveMode { inline_write, in_background };

class Saver {
  public:
    // `store` is used on rank 0 only.
    Saver(Group &group, Store &store, LayoutOptions options)
        : group_(group), store_(store), options_(options) {}
    ~Saver();
    Saver(const Saver &) = delete;
    Saver &operator=(const Saver &) = delete;

    // Before a save; the same on all ranks.
    void set_program(const ProgramSaver &program) { program_ = program; }

    // Collective. In the background the buffers are copied, or written, before it returns. On
    // anything but ok nothing will be committed. The outcome is the same on all ranks.
    Status start(const std::vector<Buffer> &buffers, const Meta &meta, SaveMode mode);

    // Collective. WaitChain for the shards and commits. The outcome is the same on all ranks.
    Status finish();

    // Not collective: a rank is lost, and nothing of the save under way will be committed. Waits
    // for this rank's shard.
    void abandon();

    bool under_way() const { return under_way_; }
    // This rank's shard is written, well or not.
    bool written() const { return written_.load(std::memory_order_acquire); }

  private:
    Status prepare(const std::vector<Buffer> &buffers, const Meta &meta);
    void write_programs(uint64_t step);
    Status copy(std::vector<Source> &sources);
    void write(const std::vector<Source> &sources);
    bool write_in_background(std::vector<Source> &sources);

    Group &group_;
    Store &store_;
    LayoutOptions options_;
    bool under_way_ = false;
    std::string fresh_;  // folder name
    Manifest manifest_;
    std::vector<std::byte> copy_;
    ProgramSaver program_;
    Status program_wrote_;
    Status wrote_;
    Shard shard_;
    std::thread writer_;
    std::atomic<bool> written_{false};
};

// What a rank tells of its shard.
struct Written {
    StatusMessage status_message;
    Shard shard;
};

[[nodiscard]] std::vector<Parameter> parameters_of(const std::vector<Buffer> &buffers);
// Of names, types and shapes: equal where the ranks registered the same.
[[nodiscard]] uint64_t parameters_hash(const std::vector<Buffer> &buffers);
// Of a checkpoint that is written now; its shards are still to be told.
[[nodiscard]] Manifest manifest_of(const Fence &fence, const Meta &meta, int ranks,
                                   const std::vector<Buffer> &buffers);

// What fails on the way to a checkpoint is a failed checkpoint, and training can go on.
[[nodiscard]] Status as_checkpoint_failure(Status outcome);

// At most, for so many bytes of parameters.
[[nodiscard]] uint64_t bytes_on_disk(uint64_t parameters);

// Bytes of all parameters together.
[[nodiscard]] uint64_t total_bytes(const std::vector<Buffer> &buffers);

// Collective. MISMATCH where ranks registered different parameters or are at different steps, or
// where their rows do not tile.
Status agree_on_parameters(Group &group, const std::vector<Buffer> &buffers, uint64_t step);

}  // namespace ringrt::checkpoint

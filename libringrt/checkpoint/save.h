// SPDX-License-Identifier: BSD-3-Clause
// Saves a checkpoint. Collective:
//
//     start()   agree on what to save; rank 0: fence, free space, a fresh directory; the program's
//     own
//               files, on this thread (program_files.h)
//     (write)   each rank its shard: inline, or from a copy on a thread while training continues.
//     What a
//               device holds is copied there, if it has the memory, and otherwise to host memory
//     finish()  all ranks agree; rank 0 writes the manifest and renames the directory into place.
//     Old
//               checkpoints are removed likewise: inline, or on a thread
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "libringrt/base/group.h"
#include "libringrt/base/large_memory.h"
#include "libringrt/checkpoint/program_files.h"
#include "libringrt/checkpoint/shard.h"
#include "libringrt/checkpoint/store.h"

namespace ringrt::checkpoint {

// A checkpoint's metadata besides the parameters.
struct Meta {
    uint64_t step = 0;
    uint64_t samples = 0;
    uint64_t seed = 0;
    uint32_t batch = 0;         // Manifest::batch
    std::vector<Speed> speeds;  // rank 0's are saved
    std::string gradients{};    // rank 0's is saved
    std::string losses{};       // rank 0's is saved
};

enum class SaveMode { inline_write, in_background };

class Saver {
  public:
    // `store` is used only on rank 0.
    Saver(Group &group, Store &store, LayoutOptions options)
        : group_(group), store_(store), options_(options) {}
    ~Saver();
    Saver(const Saver &) = delete;
    Saver &operator=(const Saver &) = delete;

    // Call before a save, with the same argument on all ranks.
    void set_program(const ProgramSaver &program) { program_ = program; }

    // Collective. In background mode, the buffers are copied or written before it returns. After
    // any outcome but ok, nothing is committed. The outcome is the same on all ranks.
    Status start(const std::vector<Buffer> &buffers, const Meta &meta, SaveMode mode);

    // Collective. Waits for the shards and commits. The outcome is the same on all ranks.
    Status finish();

    // Not collective. A rank is lost, so the current save will not be committed. Waits for this
    // rank's shard.
    void abandon();

    bool under_way() const { return under_way_; }
    // Whether writing this rank's shard has ended, successfully or not.
    bool written() const { return written_.load(std::memory_order_acquire); }

  private:
    Status prepare(const std::vector<Buffer> &buffers, const Meta &meta);
    void write_programs(uint64_t step);
    Status copy(std::vector<Source> &sources);
    Status copy_on_device(std::vector<Source> &sources);
    void write(const std::vector<Source> &sources);
    bool write_in_background(std::vector<Source> &sources);
    void remove(std::vector<std::string> directories);
    void wait_for_threads();

    Group &group_;
    Store &store_;
    LayoutOptions options_;
    bool under_way_ = false;
    std::string fresh_;  // name of the directory
    Manifest manifest_;
    std::vector<Buffer> placed_;  // outlives the save that is under way
    LargeMemory copy_;
    // What a device holds: the copy, and the buffer through which it is read.
    std::unique_ptr<DeviceCopy> device_copy_;
    Buffer copied_;
    ProgramSaver program_;
    Status program_wrote_;
    Status wrote_;
    Shard shard_;
    SaveMode mode_ = SaveMode::inline_write;
    std::thread writer_, remover_;
    std::atomic<bool> written_{false};
};

// A rank's report on its shard.
struct Written {
    StatusMessage status_message;
    Shard shard;
};

[[nodiscard]] std::vector<Parameter> parameters_of(const std::vector<Buffer> &buffers);
// Hash of names, types and shapes: equal if the ranks registered the same buffers.
[[nodiscard]] uint64_t parameters_hash(const std::vector<Buffer> &buffers);
// The manifest of a checkpoint that is written now; its shards are added later.
[[nodiscard]] Manifest manifest_of(const Fence &fence, const Meta &meta, int ranks,
                                   const std::vector<Buffer> &buffers);

// Maps a system or memory error to a failed checkpoint, after which training can continue.
[[nodiscard]] Status as_checkpoint_failure(Status outcome);

// Upper bound for this many bytes of parameters.
[[nodiscard]] uint64_t bytes_on_disk(uint64_t parameters);

// Total bytes of all parameters.
[[nodiscard]] uint64_t total_bytes(const std::vector<Buffer> &buffers);

// MISMATCH if a rank is at another step than rank 0.
Status same_step(size_t rank, uint64_t step, uint64_t of_rank_0);

// Collective. MISMATCH if ranks registered different parameters, are at different steps, or hold
// blocks that do not tile. *placed gets the buffers as a save writes them (class Placement).
Status agree_on_parameters(Group &group, const std::vector<Buffer> &buffers, uint64_t step,
                           std::vector<Buffer> *placed);

}  // namespace ringrt::checkpoint

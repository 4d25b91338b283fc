// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/save.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>

#include "libringrt/base/thread.h"

namespace ringrt::checkpoint {
namespace {

struct Registered {
    uint64_t parameters_hash;
    uint64_t step;
};

struct Begun {
    StatusMessage status_message;
    char fresh[96] = {};
};

// The blocks that the ranks hold, as numbers: each sharded buffer's offsets and extents, and of a
// blob its bytes.
std::vector<uint64_t> numbers_of(const std::vector<Buffer> &buffers) {
    std::vector<uint64_t> out;
    for (const Buffer &buffer : buffers) {
        if (!buffer.parameter.sharded) continue;
        if (buffer.parameter.blob) {
            out.push_back(buffer.bytes);
            continue;
        }
        out.insert(out.end(), buffer.block.offset.begin(), buffer.block.offset.end());
        out.insert(out.end(), buffer.block.extent.begin(), buffer.block.extent.end());
    }
    return out;
}

// Collective, after the ranks have agreed on the parameters.
Status place_all(Group &group, std::vector<Buffer> &buffers) {
    const std::vector<uint64_t> mine = numbers_of(buffers);
    const auto size = static_cast<size_t>(group.size());
    std::vector<uint64_t> all(mine.size() * size);
    if (mine.empty()) return {};
    RINGRT_TRY(
        group.allgather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all))));
    Placement placement(group.rank());
    size_t at = 0;  // of this buffer in a rank's numbers
    for (Buffer &buffer : buffers) {
        if (!buffer.parameter.sharded) continue;
        const auto of_rank = [&](size_t rank) { return all.data() + rank * mine.size() + at; };
        if (buffer.parameter.blob) {
            std::vector<uint64_t> bytes;
            for (size_t rank = 0; rank < size; ++rank) bytes.push_back(*of_rank(rank));
            at += 1;
            placement.place_blob(buffer, bytes);
            continue;
        }
        const size_t dimensions = buffer.parameter.shape.size();
        std::vector<Block> blocks;
        for (size_t rank = 0; rank < size; ++rank) {
            const uint64_t *offset = of_rank(rank), *extent = offset + dimensions;
            blocks.push_back({{offset, extent}, {extent, extent + dimensions}});
        }
        at += 2 * dimensions;
        RINGRT_TRY(placement.place(buffer, blocks));
    }
    return {};
}

}  // namespace

uint64_t parameters_hash(const std::vector<Buffer> &buffers) {
    return hash_text(format_manifest({.parameters = parameters_of(buffers)}));
}

std::vector<Parameter> parameters_of(const std::vector<Buffer> &buffers) {
    std::vector<Parameter> out;
    for (const Buffer &buffer : buffers) out.push_back(buffer.parameter);
    return out;
}

Manifest manifest_of(const Fence &fence, const Meta &meta, int ranks,
                     const std::vector<Buffer> &buffers) {
    return {.fence = fence,
            .step = meta.step,
            .samples = meta.samples,
            .seed = meta.seed,
            .ranks = static_cast<uint32_t>(ranks),
            .time_s = time(nullptr),
            .batch = meta.batch,
            .speeds = meta.speeds,
            .gradients = meta.gradients,
            .losses = meta.losses,
            .parameters = parameters_of(buffers)};
}

Status as_checkpoint_failure(Status outcome) {
    if (outcome.code != RINGRT_SYSTEM_ERROR && outcome.code != RINGRT_NO_MEMORY) return outcome;
    return {RINGRT_CHECKPOINT_FAILED, "checkpoint failed: " + outcome.message};
}

// Adds pieces, tables and the manifest to the parameters.
uint64_t bytes_on_disk(uint64_t parameters) { return parameters + parameters / 1024 + (1 << 20); }

uint64_t total_bytes(const std::vector<Buffer> &buffers) {
    uint64_t total = 0;
    for (const Buffer &buffer : buffers) total += bytes_of(buffer.parameter);
    return total;
}

Status same_step(size_t rank, uint64_t step, uint64_t of_rank_0) {
    if (step == of_rank_0) return {};
    return {RINGRT_MISMATCH, format_text("rank %zu is at step %llu, rank 0 at step %llu", rank,
                                         static_cast<unsigned long long>(step),
                                         static_cast<unsigned long long>(of_rank_0))};
}

Status agree_on_parameters(Group &group, const std::vector<Buffer> &buffers, uint64_t step,
                           std::vector<Buffer> *placed) {
    const Registered mine{parameters_hash(buffers), step};
    std::vector<Registered> all;
    if (Status gathered = gather(group, mine, all); !gathered.ok()) return gathered;
    for (size_t rank = 1; rank < all.size(); ++rank) {
        if (all[rank].parameters_hash != all[0].parameters_hash)
            return {
                RINGRT_MISMATCH,
                format_text("rank %zu registered other buffers than rank 0 (names, types, shapes)",
                            rank)};
        RINGRT_TRY(same_step(rank, all[rank].step, all[0].step));
    }
    *placed = buffers;
    return place_all(group, *placed);
}

Saver::~Saver() { wait_for_threads(); }

void Saver::wait_for_threads() {
    if (writer_.joinable()) writer_.join();
    if (remover_.joinable()) remover_.join();
}

// To free gigabytes takes a file system up to a second.
void Saver::remove(std::vector<std::string> directories) {
    if (directories.empty()) return;
    const auto all = [files = &store_.files(), directories = std::move(directories)] {
        for (const std::string &each : directories) remove_flat_directory(*files, each);
    };
    if (mode_ == SaveMode::inline_write) return all();
    try {
        remover_ = start_thread(all, [](ringrt_status_t, const char *) {});
    } catch (const std::exception &) {
        all();
    }
}

Status Saver::prepare(const std::vector<Buffer> &buffers, const Meta &meta) {
    RINGRT_TRY(agree_on_parameters(group_, buffers, meta.step, &placed_));
    Begun begun;
    if (group_.rank() == 0) {
        std::string fresh;
        Status outcome = store_.claim();
        if (outcome.ok()) outcome = store_.check_space(bytes_on_disk(total_bytes(buffers)));
        if (outcome.ok()) outcome = store_.begin(meta.step, fresh);
        begun.status_message = StatusMessage::of(as_checkpoint_failure(outcome));
        std::memcpy(begun.fresh, fresh.data(), std::min(fresh.size(), sizeof begun.fresh - 1));
    }
    if (Status sent = broadcast(group_, begun); !sent.ok()) return sent;
    fresh_ = begun.fresh;
    return begun.status_message.outcome();
}

void Saver::write_programs(uint64_t step) {
    program_wrote_ = as_checkpoint_failure({RINGRT_NO_MEMORY, "no memory for the program's files"});
    try {
        Status wrote;
        if (program_)
            wrote = write_program_files(store_.files(), program_, store_.directory() + "/" + fresh_,
                                        step);
        program_wrote_ = std::move(wrote);
    } catch (const std::bad_alloc &) {  // finish() reports it to all ranks
    }
}

// Sources whose bytes follow each other are one range: parameters are cut into small pieces.
Status Saver::copy_on_device(std::vector<Source> &sources) {
    std::vector<DeviceMemory::Range> ranges;
    DeviceMemory *device = nullptr;
    for (const Source &source : sources) {
        if (!source.on_device) continue;
        device = source.on_device->device;
        if (!ranges.empty() && ranges.back().data + ranges.back().bytes == source.bytes)
            ranges.back().bytes += source.piece.bytes;
        else
            ranges.push_back({source.bytes, source.piece.bytes});
    }
    if (device == nullptr) return {};
    if (Status copied = device->copy_on_device(ranges, &device_copy_); !copied.ok()) {
        copied.message += ", during the copy of all buffers on the device";
        return as_checkpoint_failure({RINGRT_SYSTEM_ERROR, std::move(copied.message)});
    }
    if (!device_copy_) return {};
    copied_.parameter.name = "device-copy";
    copied_.device = &device_copy_->reader();
    const std::byte *at = device_copy_->data();
    for (Source &source : sources) {
        if (!source.on_device) continue;
        source.on_device = &copied_;
        source.bytes = at;
        at += source.piece.bytes;
    }
    return {};
}

// Afterwards the program may change its buffers.
Status Saver::copy(std::vector<Source> &sources) {
    RINGRT_TRY(copy_on_device(sources));
    std::vector<Source *> others;  // for host memory
    std::vector<Source> to_read, window;
    uint64_t bytes = 0;
    for (Source &source : sources) {
        if (source.on_device == &copied_) continue;
        others.push_back(&source);
        to_read.push_back(source);
        bytes += source.piece.bytes;
    }
    std::byte *at = copy_.reserve(bytes);
    SourceReader reader(to_read);
    size_t next = 0;
    do {
        RINGRT_TRY(reader.next(window));
        for (const Source &source : window) {
            std::memcpy(at, source.bytes, source.piece.bytes);
            *others[next++] = {.piece = source.piece, .bytes = at};
            at += source.piece.bytes;
        }
    } while (!window.empty());
    return {};
}

void Saver::write(const std::vector<Source> &sources) {
    try {
        Status wrote;
        if (!sources.empty())
            wrote = write_shard(store_.files(),
                                store_.directory() + "/" + fresh_ + "/" + shard_name(shard_.rank),
                                sources, shard_);
        wrote_ = as_checkpoint_failure(std::move(wrote));
    } catch (const std::bad_alloc &) {  // wrote_ already holds this error
    }
    written_.store(true, std::memory_order_release);
}

bool Saver::write_in_background(std::vector<Source> &sources) try {
    if (Status copied = copy(sources); !copied.ok()) {  // a second read would fail as well
        wrote_ = as_checkpoint_failure(std::move(copied));
        written_.store(true, std::memory_order_release);
        return true;
    }
    writer_ = start_thread([this, sources] { write(sources); },
                           [this](ringrt_status_t, const char *) {  // wrote_ holds the failure
                               written_.store(true, std::memory_order_release);
                           });
    return true;
} catch (const std::exception &) {
    return false;  // no memory or no thread: the caller writes directly
}

Status Saver::start(const std::vector<Buffer> &buffers, const Meta &meta, SaveMode mode) {
    wait_for_threads();  // of the save before, whose directories take space
    if (Status prepared = prepare(buffers, meta); !prepared.ok()) return prepared;
    mode_ = mode;
    manifest_ = manifest_of(store_.fence(), meta, group_.size(), placed_);
    shard_ = {.rank = static_cast<uint32_t>(group_.rank())};
    // Holds until the shard is written, so that an exception leaves nothing to commit.
    wrote_ = as_checkpoint_failure({RINGRT_NO_MEMORY, "no memory to write a shard"});
    written_.store(false, std::memory_order_relaxed);
    under_way_ = true;
    write_programs(meta.step);
    try {
        std::vector<Source> sources =
            sources_to_write(placed_, group_.rank(), group_.size(), options_);
        const bool beside = mode == SaveMode::in_background && write_in_background(sources);
        if (!beside) write(sources);
    } catch (const std::bad_alloc &) {  // finish() reports it to all ranks
        written_.store(true, std::memory_order_release);
    }
    if (mode == SaveMode::inline_write) return {};
    // A rank without memory for a copy, or without a thread, writes inline. The others wait for it
    // here, because a later collective may time out before a disk write ends.
    return agree(group_, {});
}

Status Saver::finish() {
    if (writer_.joinable()) writer_.join();
    device_copy_.reset();
    under_way_ = false;
    const Written mine{StatusMessage::of(program_wrote_.ok() ? wrote_ : program_wrote_), shard_};
    std::vector<Written> all;
    if (Status gathered = gather(group_, mine, all); !gathered.ok()) return gathered;
    Status worst;
    for (const Written &written : all) {
        if (worst.ok() && written.status_message.code != RINGRT_OK)
            worst = written.status_message.outcome();
        if (written.shard.pieces > 0) manifest_.shards.push_back(written.shard);
    }
    if (group_.rank() == 0 && worst.ok() && program_)
        worst =
            list_program_files(store_.files(), store_.directory() + "/" + fresh_, manifest_.files);
    std::vector<std::string> old;
    if (group_.rank() == 0 && worst.ok())
        worst = as_checkpoint_failure(store_.commit(fresh_, manifest_, &old));
    if (worst.ok()) remove(std::move(old));
    if (group_.rank() == 0 && !worst.ok()) store_.discard(fresh_);
    return broadcast_status(group_, worst);
}

void Saver::abandon() {
    if (writer_.joinable()) writer_.join();
    device_copy_.reset();
    if (under_way_ && group_.rank() == 0) store_.discard(fresh_);
    under_way_ = false;
}

}  // namespace ringrt::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// What a checkpoint holds, its saves and its restores.
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "libringrt/api/checkpoint.h"
#include "libringrt/base/clock.h"
#include "libringrt/job/job.h"

namespace ringrt {
namespace {

// While it lives, a write of this thread beyond the file size limit fails instead of ending the
// process. A handler would be the whole process's.
class FileLimit {
  public:
    FileLimit() {
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    }
    ~FileLimit() {
        if (sigismember(&before_, SIGXFSZ) == 0) {
            const timespec now{};
            sigtimedwait(&signal_, nullptr, &now);
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    FileLimit(const FileLimit &) = delete;
    FileLimit &operator=(const FileLimit &) = delete;

  private:
    sigset_t signal_, before_;
};

class Busy {
  public:
    explicit Busy(bool &busy) : busy_(busy) { busy_ = true; }
    ~Busy() { busy_ = false; }
    Busy(const Busy &) = delete;
    Busy &operator=(const Busy &) = delete;

  private:
    bool &busy_;
};

// Runs a save or a restore. The other ranks do not wait for one that cannot continue.
template <typename Body>
ringrt_status_t collective(ringrt_checkpoint_t *checkpoint, Body &&body) noexcept {
    return guard(checkpoint, [&] {
        if (checkpoint->busy) return invalid("a callback may not save, and may not restore");
        if (checkpoint->is_outside)
            return invalid(
                "this extension has not joined its base: call ringrt_job_resize() first");
        const Busy busy(checkpoint->busy);
        const FileWork work(checkpoint->group);
        const FileLimit limit;
        checkpoint->is_used = true;
        return abort_if_thrown(body, [&] { checkpoint->comm->communicator.abort(); });
    });
}

// A state that the program has not registered again is lost with the checkpoint that holds it.
void log_dropped(const ringrt_checkpoint_t &checkpoint) {
    if (checkpoint.group.rank() != 0 || !checkpoint.restored) return;
    size_t count = 0;
    const std::string *first = nullptr;
    for (const checkpoint::Parameter &saved : checkpoint.restored->manifest.parameters) {
        const bool is_held =
            checkpoint.registered.contains(saved.name) || checkpoint.blobs.contains(saved.name);
        if (is_held) continue;
        if (count++ == 0) first = &saved.name;
    }
    if (count > 0)
        log_line(format_text(
            "%zu of the restored tensors and blobs are not registered, the first is %s: "
            "checkpoints from now on do not hold them",
            count, first->c_str()));
}

// By name.
std::vector<checkpoint::Buffer> tensors_and_blobs(ringrt_checkpoint_t &checkpoint) {
    std::vector<checkpoint::Buffer> all = checkpoint.registered.buffers();
    for (auto &[name, bytes] : checkpoint.blobs)
        all.push_back(checkpoint::blob_buffer(name, bytes.data(), bytes.size()));
    std::ranges::sort(all, {}, [](const checkpoint::Buffer &each) -> const std::string & {
        return each.parameter.name;
    });
    return all;
}

Status check_no_save(const ringrt_checkpoint_t &checkpoint) {
    if (!checkpoint.saver.under_way()) return {};
    return invalid("a save is under way: call ringrt_checkpoint_save_end() first");
}

Status begin_save(ringrt_checkpoint_t &checkpoint, uint64_t step, checkpoint::SaveMode mode) {
    RINGRT_TRY(check_no_save(checkpoint));
    RINGRT_TRY(checkpoint::run_before_save(checkpoint.group, checkpoint.before_save, step));
    const checkpoint::Meta meta =
        checkpoint.job ? checkpoint.job->meta(step) : checkpoint::Meta{.step = step};
    return checkpoint.saver.start(tensors_and_blobs(checkpoint), meta, mode);
}

Status end_save(ringrt_checkpoint_t &checkpoint) {
    if (!checkpoint.saver.under_way())
        return invalid("no save is under way: call ringrt_checkpoint_save_begin() first");
    RINGRT_TRY(checkpoint.saver.finish());
    log_dropped(checkpoint);
    checkpoint.restored.reset();
    checkpoint.sent.reset();
    return {};
}

Status save(ringrt_checkpoint_t &checkpoint, uint64_t step) {
    RINGRT_TRY(begin_save(checkpoint, step, checkpoint::SaveMode::inline_write));
    return end_save(checkpoint);
}

Status restore(ringrt_checkpoint_t &checkpoint, uint64_t &step) {
    RINGRT_TRY(check_no_save(checkpoint));
    checkpoint.restored.reset();
    checkpoint::Manifest manifest;
    checkpoint::Rest rest;
    const double begun_s = monotonic_s();
    Status loaded =
        checkpoint::load(checkpoint.group, checkpoint.store, checkpoint.registered.buffers(),
                         manifest, checkpoint::kPauses_s, &rest);
    if (loaded.code == RINGRT_NOT_FOUND && checkpoint.job)
        checkpoint.job->not_restored(loaded.message);
    RINGRT_TRY(std::move(loaded));
    RINGRT_TRY(checkpoint::load_program_files(checkpoint.group, checkpoint.program,
                                              checkpoint.store, manifest));
    checkpoint.restored = std::move(rest);
    checkpoint.sent.reset();
    if (checkpoint.job) checkpoint.job->restored(manifest, monotonic_s() - begun_s);
    step = manifest.step;
    return {};
}

// A tensor registered after a restore gets what the checkpoint holds of it.
Status add(ringrt_checkpoint_t &checkpoint, checkpoint::Buffer buffer) {
    const std::string name = buffer.parameter.name;
    if (checkpoint.blobs.contains(name)) return invalid("a blob of that name is set already");
    if (checkpoint.is_live && buffer.parameter.sharded)
        return {RINGRT_UNSUPPORTED,
                "a block of a tensor cannot be registered in a job that is resized in place"};
    if (checkpoint.is_complete)
        return {RINGRT_UNSUPPORTED,
                "in a job that is resized in place, register tensors before the first step"};
    if (checkpoint.registered.buffers().size() + checkpoint.blobs.size() >=
        checkpoint::kParametersMax)
        return invalid("at most 4096 buffers");
    RINGRT_TRY(checkpoint.registered.add(std::move(buffer)));
    if (!checkpoint.restored) return {};
    Status loaded = checkpoint::load_late(checkpoint.store.files(), *checkpoint.restored,
                                          *checkpoint.registered.find(name));
    if (!loaded.ok()) checkpoint.registered.remove(name);
    return loaded;
}

Status set_blob(ringrt_checkpoint_t &checkpoint, const char *name, const void *data, size_t bytes) {
    checkpoint::Parameter blob;
    RINGRT_TRY(describe(name, RINGRT_UINT8, 0, nullptr, blob));
    if (!data && bytes > 0) return invalid("a blob's data is NULL");
    if (checkpoint.registered.contains(blob.name))
        return invalid("a buffer of that name is registered already");
    if (checkpoint.registered.buffers().size() + checkpoint.blobs.size() >=
            checkpoint::kParametersMax &&
        !checkpoint.blobs.contains(blob.name))
        return invalid("at most 4096 buffers");
    const auto *from = static_cast<const std::byte *>(data);
    checkpoint.blobs[blob.name] = std::vector<std::byte>(from, from + bytes);
    return {};
}

Status get_blob(ringrt_checkpoint_t &checkpoint, const char *name, int rank, const void **data,
                size_t *bytes) {
    if (!name || !data || !bytes) return invalid("name, data or bytes is NULL");
    if (rank < 0) return invalid("rank: expected 0 or more");
    const std::string wanted(name, strnlen(name, checkpoint::kNameBytesMax + 1));
    if (checkpoint.sent) {
        RINGRT_TRY(checkpoint.sent->get(wanted, rank, checkpoint.read_blob));
    } else {
        if (!checkpoint.restored)
            return {RINGRT_NOT_FOUND, "no checkpoint was restored, or one was saved since"};
        RINGRT_TRY(checkpoint::load_blob(checkpoint.store.files(), *checkpoint.restored, wanted,
                                         static_cast<uint32_t>(rank), checkpoint.read_blob));
    }
    *data = checkpoint.read_blob.data();
    *bytes = checkpoint.read_blob.size();
    return {};
}

Status describe_block(int ndim, const uint64_t *offset, const uint64_t *extent,
                      checkpoint::Buffer &out) {
    if (ndim == 0) return invalid("a scalar has no blocks: use ringrt_checkpoint_register()");
    if (!offset || !extent) return invalid("a block's offset or extent is NULL");
    checkpoint::Block block{{offset, offset + ndim}, {extent, extent + ndim}};
    if (!checkpoint::is_inside(block, out.parameter.shape))
        return {RINGRT_INVALID_ARGUMENT, format_text("buffer %s: the block is outside the shape",
                                                     out.parameter.name.c_str())};
    hold_block(out, std::move(block));
    return {};
}

}  // namespace
}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_checkpoint_register(ringrt_checkpoint_t *checkpoint, const char *name,
                                           void *data, ringrt_dtype_t dtype, int ndim,
                                           const uint64_t *shape) {
    return guard(checkpoint, [&]() -> Status {
        checkpoint::Buffer buffer{.data = static_cast<std::byte *>(data)};
        RINGRT_TRY(describe(name, dtype, ndim, shape, buffer.parameter));
        buffer.bytes = bytes_of(buffer.parameter);
        return add(*checkpoint, std::move(buffer));
    });
}

ringrt_status_t ringrt_checkpoint_register_block(ringrt_checkpoint_t *checkpoint, const char *name,
                                                 void *data, ringrt_dtype_t dtype, int ndim,
                                                 const uint64_t *shape, const uint64_t *offset,
                                                 const uint64_t *extent) {
    return guard(checkpoint, [&]() -> Status {
        checkpoint::Buffer buffer{.data = static_cast<std::byte *>(data)};
        RINGRT_TRY(describe(name, dtype, ndim, shape, buffer.parameter));
        RINGRT_TRY(describe_block(ndim, offset, extent, buffer));
        return add(*checkpoint, std::move(buffer));
    });
}

ringrt_status_t ringrt_checkpoint_set_blob(ringrt_checkpoint_t *checkpoint, const char *name,
                                           const void *data, size_t bytes) {
    return guard(checkpoint, [&] { return set_blob(*checkpoint, name, data, bytes); });
}

ringrt_status_t ringrt_checkpoint_get_blob(ringrt_checkpoint_t *checkpoint, const char *name,
                                           int rank, const void **data, size_t *bytes) {
    return guard(checkpoint, [&] { return get_blob(*checkpoint, name, rank, data, bytes); });
}

ringrt_status_t ringrt_checkpoint_holds(ringrt_checkpoint_t *checkpoint, const char *name,
                                        int *held) {
    return guard(checkpoint, [&] {
        if (!name || !held) return invalid("name or held is NULL");
        const std::string wanted(name, strnlen(name, checkpoint::kNameBytesMax + 1));
        *held = checkpoint->sent ? checkpoint->sent->blobs.contains(wanted)
                                 : checkpoint->restored && checkpoint->restored->find(wanted);
        return Status{};
    });
}

ringrt_status_t ringrt_checkpoint_set_before_save(ringrt_checkpoint_t *checkpoint,
                                                  ringrt_checkpoint_before_save_fn before_save,
                                                  void *context) {
    return guard(checkpoint, [&] {
        checkpoint->before_save = {before_save, context};
        return Status{};
    });
}

ringrt_status_t ringrt_checkpoint_set_saver(ringrt_checkpoint_t *checkpoint,
                                            ringrt_checkpoint_saver_fn save,
                                            ringrt_checkpoint_saver_fn load, void *context) {
    return guard(checkpoint, [&] {
        if (!save || !load) return invalid("save and load are both needed");
        checkpoint->program = {save, load, context};
        checkpoint->saver.set_program(checkpoint->program);
        return Status{};
    });
}

ringrt_status_t ringrt_checkpoint_set_stream(ringrt_checkpoint_t *checkpoint, void *stream) {
    return guard(checkpoint, [&] {
        checkpoint->stream = stream;
        return Status{};
    });
}

ringrt_status_t ringrt_checkpoint_save(ringrt_checkpoint_t *checkpoint, uint64_t step) {
    return collective(checkpoint, [&] { return save(*checkpoint, step); });
}

ringrt_status_t ringrt_checkpoint_save_begin(ringrt_checkpoint_t *checkpoint, uint64_t step) {
    return collective(checkpoint, [&] {
        return begin_save(*checkpoint, step, checkpoint::SaveMode::in_background);
    });
}

ringrt_status_t ringrt_checkpoint_save_end(ringrt_checkpoint_t *checkpoint) {
    return collective(checkpoint, [&] { return end_save(*checkpoint); });
}

ringrt_status_t ringrt_checkpoint_save_written(ringrt_checkpoint_t *checkpoint, int *written) {
    return guard(checkpoint, [&] {
        if (!written) return invalid("written is NULL");
        if (!checkpoint->saver.under_way()) return invalid("no save is under way");
        *written = checkpoint->saver.written() ? 1 : 0;
        return Status{};
    });
}

ringrt_status_t ringrt_checkpoint_restore(ringrt_checkpoint_t *checkpoint, uint64_t *step) {
    return collective(checkpoint, [&]() -> Status {
        if (!step) return invalid("step is NULL");
        return restore(*checkpoint, *step);
    });
}

}  // extern "C"

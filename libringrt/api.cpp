// SPDX-License-Identifier: BSD-3-Clause
// The C boundary: the only file that a program calls into. Every function goes through guard().
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "libringrt/collective/communicator.h"
#include "libringrt/exchange/exchange.h"
#include "libringrt/ringrt.h"
#include "libringrt/step.h"

namespace ringrt {
namespace {

// The communicator as the step boundary and the checkpoints see it.
class CommunicatorPeers final : public checkpoint::Peers {
  public:
    explicit CommunicatorPeers(Communicator &communicator) : communicator_(communicator) {}
    int rank() const override { return communicator_.rank(); }
    int size() const override { return communicator_.size(); }
    Outcome allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return outcome(communicator_.all_gather(mine.data(), all.data(), mine.size()));
    }
    Outcome broadcast(std::span<std::byte> bytes) override {
        return outcome(communicator_.broadcast(bytes.data(), bytes.size(), 0));
    }
    Outcome outcome(ringrt_status_t status) const {
        return status == RINGRT_OK ? Outcome{} : Outcome{status, communicator_.last_error()};
    }

  private:
    Communicator &communicator_;
};

thread_local std::string init_error;

CommunicatorConfig communicator_config(const Settings &settings) {
    return {.rank = settings.rank,
            .size = settings.size,
            .local_rank = settings.local_rank,
            .rendezvous = settings.rendezvous,
            .rendezvous_dir = settings.checkpoint_dir,
            .allgather = settings.allgather,
            .allgather_context = settings.allgather_context,
            .messenger = settings.transport == "mpi" ? settings.messenger : nullptr,
            .timeout_ms = settings.timeout_ms,
            .start_timeout_ms = settings.start_timeout_ms,
            .warn = log_line};
}

}  // namespace
}  // namespace ringrt

struct ringrt_runtime {
    explicit ringrt_runtime(ringrt::Settings given)
        : settings(std::move(given)),
          communicator(ringrt::communicator_config(settings)),
          peers(communicator) {}

    const pid_t pid = getpid();
    const ringrt::Settings settings;
    ringrt::Communicator communicator;
    ringrt::CommunicatorPeers peers;
    std::vector<ringrt::checkpoint::Buffer> buffers;  // by name
    std::unique_ptr<ringrt::StepBoundary> boundary;
    std::unique_ptr<ringrt::Exchange> exchange;  // once a gradient is registered
    ringrt_dtype_t gradient_dtype = RINGRT_FLOAT32;
    ringrt_op_t gradient_op = RINGRT_SUM;
    bool left = false;  // ringrt_step() said leave: nobody waits for anybody any more
    std::atomic<bool> aborted{false};
    mutable std::string last_error;
};

struct ringrt_request {
    std::unique_ptr<ringrt::Request> operation;
};

namespace ringrt {
namespace {

template <typename Body>
Outcome run_guarded(Body &&body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return {RINGRT_NO_MEMORY, "out of memory"};
    } catch (const std::exception &error) {
        return {RINGRT_SYSTEM_ERROR, std::string("internal error: ") + error.what()};
    } catch (...) {
        return {RINGRT_SYSTEM_ERROR, "internal error"};
    }
}

Outcome check_handle(const ringrt_t *rt) {
    if (!rt) return {RINGRT_INVALID_ARGUMENT, "the handle is NULL"};
    if (rt->pid != getpid())
        return {RINGRT_FORKED, "this handle belongs to the process that fork()ed this one"};
    return {};
}

// Runs one call on a handle; whatever fails leaves one line behind.
template <typename Body>
ringrt_status_t guard(const ringrt_t *rt, Body &&body) noexcept {
    Outcome outcome = run_guarded([&] {
        Outcome valid = check_handle(rt);
        if (valid.ok() && rt->aborted) valid = {RINGRT_ABORTED, "ringrt_abort() was called"};
        return valid.ok() ? body() : valid;
    });
    if (outcome.ok()) return RINGRT_OK;
    if (outcome.status == RINGRT_PEER_LOST && rt->boundary)
        outcome.message += "; " + rt->boundary->last_checkpoint();
    if (rt)
        rt->last_error = std::move(outcome.message);
    else
        init_error = std::move(outcome.message);
    return outcome.status;
}

Outcome invalid(const char *what) { return {RINGRT_INVALID_ARGUMENT, what}; }

// A call that needs the ranks' connections for itself.
template <typename Body>
ringrt_status_t guard_alone(ringrt_t *rt, Body &&body) noexcept {
    return guard(rt, [&] {
        if (rt->exchange && !rt->exchange->idle())
            return invalid(
                "gradients are under way: ringrt_gradient_wait() for each of them first");
        return body();
    });
}

Outcome outcome(ExchangeResult result) { return {result.status, std::move(result.message)}; }

// What was learned travels in checkpoints; what is planned for other sizes goes to the scheduler.
void tell_boundary(ringrt_t &rt) {
    rt.exchange->recall(rt.boundary->restored_gradients());
    rt.boundary->set_gradients(
        {.learned = [&rt] { return rt.exchange->learned(); },
         .add_planned =
             [&rt](records::Telemetry &telemetry) {
                 for (const Exchange::PlannedSpeed &speed : rt.exchange->planned_speeds())
                     if (telemetry.planned_sizes < records::kPlannedSpeedsMax && speed.step_ms > 0)
                         telemetry.planned[static_cast<size_t>(telemetry.planned_sizes++)] = {
                             speed.ranks, speed.step_ms};
             }});
}

Outcome register_gradient(ringrt_t &rt, const char *name, size_t count, ringrt_dtype_t dtype,
                          ringrt_op_t op, int *id) {
    if (!name || !id) return invalid("name or id is NULL");
    if (!rt.exchange) {
        const char *trace = getenv("RINGRT_TRACE"), *profile = getenv("RINGRT_PROFILE");
        rt.gradient_dtype = dtype;
        rt.gradient_op = op;
        rt.exchange = std::make_unique<Exchange>(
            rt.communicator,
            ExchangeConfig{.dtype = dtype,
                           .op = op,
                           .trace_file = trace ? trace : "",
                           .profile_file = profile ? profile : "",
                           .samples_per_rank = [batch = rt.settings.batch](int ranks) {
                               return static_cast<double>(samples_per_step(batch, ranks)) / ranks;
                           }});
        tell_boundary(rt);
    }
    if (dtype != rt.gradient_dtype || op != rt.gradient_op)
        return invalid("all gradients have one dtype and one op");
    return outcome(rt.exchange->add(name, count, id));
}

// Rank 0's, so that all ranks have one.
Outcome make_fence(ringrt_t &rt, checkpoint::Fence &fence) {
    fence = {.job = rt.settings.job, .restart = rt.settings.restart};
    if (getrandom(&fence.nonce, sizeof fence.nonce, 0) != sizeof fence.nonce)
        return {RINGRT_SYSTEM_ERROR, "no random numbers"};
    return checkpoint::broadcast(rt.peers, fence);
}

Outcome start(ringrt_t &rt) {
    using namespace checkpoint;
    if (rt.settings.size > 1 && !rt.settings.allgather)  // ranks meet in a file there
        if (int made = make_folders(real_files(), rt.settings.checkpoint_dir); made < 0)
            return write_failure(made, rt.settings.checkpoint_dir);
    if (Outcome met = rt.peers.outcome(rt.communicator.start()); !met.ok()) return met;
    Fence fence;
    if (Outcome made = make_fence(rt, fence); !made.ok()) return made;
    rt.boundary = std::make_unique<StepBoundary>(rt.settings, rt.peers, fence, rt.buffers);
    return rt.boundary->start();
}

// Adds a buffer where its name sorts.
Outcome add(ringrt_t &rt, checkpoint::Buffer buffer) {
    if (Outcome valid = check(buffer.parameter); !valid.ok()) return valid;
    if (!buffer.data && buffer.bytes > 0) return invalid("a buffer's data is NULL");
    if (rt.buffers.size() == checkpoint::kParametersMax) return invalid("at most 4096 buffers");
    auto by_name = [](const checkpoint::Buffer &held, const std::string &name) {
        return held.parameter.name < name;
    };
    auto at =
        std::lower_bound(rt.buffers.begin(), rt.buffers.end(), buffer.parameter.name, by_name);
    if (at != rt.buffers.end() && at->parameter.name == buffer.parameter.name)
        return invalid("a buffer of that name is registered already");
    rt.buffers.insert(at, std::move(buffer));
    return {};
}

Outcome describe(const char *name, ringrt_dtype_t dtype, int ndim, const uint64_t *shape,
                 checkpoint::Parameter &out) {
    if (!name) return invalid("a buffer's name is NULL");
    if (ndim < 0 || static_cast<size_t>(ndim) > checkpoint::kDimensionsMax)
        return invalid("a buffer has 0 to 16 dimensions");
    if (ndim > 0 && !shape) return invalid("a buffer's shape is NULL");
    out = {.name = std::string(name, strnlen(name, checkpoint::kNameBytesMax + 1)),
           .dtype = dtype,
           .shape = std::vector<uint64_t>(shape, shape + ndim)};
    return check(out);
}

}  // namespace
}  // namespace ringrt

using namespace ringrt;

extern "C" {

const char *ringrt_status_string(ringrt_status_t status) {
    switch (status) {
        case RINGRT_OK:
            return "ok";
        case RINGRT_NOT_FOUND:
            return "not found";
        case RINGRT_INVALID_ARGUMENT:
            return "invalid argument";
        case RINGRT_TIMEOUT:
            return "timed out";
        case RINGRT_PEER_LOST:
            return "peer lost";
        case RINGRT_MISMATCH:
            return "mismatch";
        case RINGRT_NO_MEMORY:
            return "out of memory";
        case RINGRT_SYSTEM_ERROR:
            return "system error";
        case RINGRT_CHECKPOINT_FAILED:
            return "checkpoint failed";
        case RINGRT_CORRUPT:
            return "corrupt";
        case RINGRT_SUPERSEDED:
            return "superseded";
        case RINGRT_ABORTED:
            return "aborted";
        case RINGRT_FORKED:
            return "used after fork";
        case RINGRT_UNSUPPORTED:
            return "unsupported";
    }
    return "unknown status";
}

const char *ringrt_last_error(const ringrt_t *rt) {
    return rt ? rt->last_error.c_str() : init_error.c_str();
}

ringrt_status_t ringrt_init(ringrt_t **out, const ringrt_config_t *config) {
    Outcome outcome = run_guarded([&] {
        if (!out) return invalid("out is NULL");
        Settings settings;
        if (Outcome resolved = resolve(config, getenv, settings); !resolved.ok()) return resolved;
        auto rt = std::make_unique<ringrt_runtime>(std::move(settings));
        if (Outcome started = start(*rt); !started.ok()) return started;
        *out = rt.release();
        return Outcome{};
    });
    if (!outcome.ok()) init_error = std::move(outcome.message);
    return outcome.status;
}

ringrt_status_t ringrt_finalize(ringrt_t *rt) {
    if (!rt) return RINGRT_OK;
    if (rt->pid != getpid()) return RINGRT_FORKED;  // nothing of the parent's may be touched
    if (rt->exchange && !rt->exchange->idle()) rt->communicator.abort();  // nobody waits for it
    Outcome outcome = run_guarded([&] {
        if (rt->left || rt->aborted) return Outcome{};
        Outcome finished = rt->boundary->finish();
        Outcome parted = rt->peers.outcome(rt->communicator.finish());
        return finished.ok() ? parted : finished;
    });
    delete rt;
    if (!outcome.ok()) init_error = std::move(outcome.message);
    return outcome.status;
}

ringrt_status_t ringrt_abort(ringrt_t *rt) {
    if (!rt) return RINGRT_INVALID_ARGUMENT;
    if (rt->pid != getpid()) return RINGRT_FORKED;
    rt->aborted = true;
    rt->communicator.abort();
    return RINGRT_OK;
}

int ringrt_rank(const ringrt_t *rt) { return rt ? rt->communicator.rank() : -1; }
int ringrt_size(const ringrt_t *rt) { return rt ? rt->communicator.size() : -1; }
int ringrt_local_rank(const ringrt_t *rt) { return rt ? rt->communicator.local_rank() : -1; }
int ringrt_restarts(const ringrt_t *rt) {
    return rt ? static_cast<int>(std::min<uint32_t>(rt->settings.restart, INT32_MAX)) : -1;
}

ringrt_status_t ringrt_allreduce(ringrt_t *rt, const void *send, void *recv, size_t count,
                                 ringrt_dtype_t dtype, ringrt_op_t op) {
    return guard_alone(rt, [&] {
        if (count > 0 && (!send || !recv)) return invalid("send or recv is NULL");
        return rt->peers.outcome(rt->communicator.allreduce(send, recv, count, dtype, op));
    });
}

ringrt_status_t ringrt_reduce_scatter(ringrt_t *rt, const void *send, void *recv, size_t count,
                                      ringrt_dtype_t dtype, ringrt_op_t op) {
    return guard(rt, [&] {
        return rt->peers.outcome(rt->communicator.reduce_scatter(send, recv, count, dtype, op));
    });
}

ringrt_status_t ringrt_all_gather(ringrt_t *rt, const void *send, void *recv, size_t count,
                                  ringrt_dtype_t dtype) {
    return guard(rt, [&] {
        return rt->peers.outcome(rt->communicator.all_gather_shares(send, recv, count, dtype));
    });
}

ringrt_status_t ringrt_set_stream(ringrt_t *rt, void *stream) {
    return guard(rt, [&] { return rt->peers.outcome(rt->communicator.set_stream(stream)); });
}

ringrt_status_t ringrt_alloc(ringrt_t *rt, size_t bytes, void **out) {
    return guard(rt, [&] {
        if (!out) return invalid("out is NULL");
        return rt->peers.outcome(rt->communicator.alloc(bytes, out));
    });
}

ringrt_status_t ringrt_free(ringrt_t *rt, void *memory) {
    return guard(rt, [&] { return rt->peers.outcome(rt->communicator.free(memory)); });
}

ringrt_status_t ringrt_allreduce_start(ringrt_t *rt, const void *send, void *recv, size_t count,
                                       ringrt_dtype_t dtype, ringrt_op_t op, int priority,
                                       ringrt_request_t **out) {
    return guard(rt, [&] {
        if (!out) return invalid("out is NULL");
        auto request = std::make_unique<ringrt_request>();
        Outcome started = rt->peers.outcome(rt->communicator.start_allreduce(
            send, recv, count, dtype, op, priority, &request->operation));
        if (started.ok()) *out = request.release();
        return started;
    });
}

ringrt_status_t ringrt_test(ringrt_t *rt, ringrt_request_t *request, int *done) {
    return guard(rt, [&] {
        if (!request || !done) return invalid("request or done is NULL");
        ringrt_status_t status = RINGRT_OK;
        *done = request->operation->test(&status) ? 1 : 0;
        return Outcome{};
    });
}

ringrt_status_t ringrt_wait(ringrt_t *rt, ringrt_request_t *request) {
    std::unique_ptr<ringrt_request> owned(rt && rt->pid == getpid() ? request : nullptr);
    ringrt_status_t status = RINGRT_OK;
    if (owned) status = owned->operation->wait();  // also where rt was aborted meanwhile
    return guard(rt, [&] {
        if (!request) return invalid("request is NULL");
        return rt->peers.outcome(status);
    });
}

ringrt_status_t ringrt_broadcast(ringrt_t *rt, void *buffer, size_t bytes, int root) {
    return guard_alone(rt, [&] {
        if (bytes > 0 && !buffer) return invalid("buffer is NULL");
        return rt->peers.outcome(rt->communicator.broadcast(buffer, bytes, root));
    });
}

ringrt_status_t ringrt_barrier(ringrt_t *rt) {
    return guard_alone(rt, [&] { return rt->peers.outcome(rt->communicator.barrier()); });
}

ringrt_status_t ringrt_gradient_register(ringrt_t *rt, const char *name, size_t count,
                                         ringrt_dtype_t dtype, ringrt_op_t op, int *id) {
    return guard(rt, [&] { return register_gradient(*rt, name, count, dtype, op, id); });
}

ringrt_status_t ringrt_gradient_ready(ringrt_t *rt, int id, void *buffer) {
    return guard(rt, [&] {
        if (!rt->exchange) return invalid("no gradient was registered");
        if (rt->communicator.on_gpu(buffer))
            return invalid("gradients must be in ordinary memory: ringrt_allreduce_start() takes a GPU's");
        return outcome(rt->exchange->ready(id, buffer));
    });
}

ringrt_status_t ringrt_gradient_wait(ringrt_t *rt, int id, const void **sum) {
    return guard(rt, [&] {
        if (!rt->exchange) return invalid("no gradient was registered");
        return outcome(rt->exchange->wait(id, sum));
    });
}

ringrt_status_t ringrt_batch(const ringrt_t *rt, ringrt_batch_t *out) {
    return guard(rt, [&] {
        if (!out) return invalid("out is NULL");
        return share_of_batch(rt->settings.batch, rt->communicator.rank(), rt->communicator.size(),
                              rt->boundary->samples_seen(), *out);
    });
}

uint64_t ringrt_sample(uint64_t seed, uint64_t epoch, uint64_t samples, uint64_t position) {
    return sample_at(seed, epoch, samples, position);
}

ringrt_status_t ringrt_register(ringrt_t *rt, const char *name, void *data, ringrt_dtype_t dtype,
                                int ndim, const uint64_t *shape) {
    return guard(rt, [&] {
        checkpoint::Buffer buffer{.data = static_cast<std::byte *>(data)};
        if (Outcome valid = describe(name, dtype, ndim, shape, buffer.parameter); !valid.ok())
            return valid;
        buffer.bytes = bytes_of(buffer.parameter);
        return add(*rt, std::move(buffer));
    });
}

ringrt_status_t ringrt_register_rows(ringrt_t *rt, const char *name, void *data,
                                     ringrt_dtype_t dtype, int ndim, const uint64_t *shape,
                                     uint64_t first_row, uint64_t rows) {
    return guard(rt, [&] {
        checkpoint::Buffer buffer{.data = static_cast<std::byte *>(data)};
        if (Outcome valid = describe(name, dtype, ndim, shape, buffer.parameter); !valid.ok())
            return valid;
        if (ndim == 0) return invalid("a scalar has no rows: use ringrt_register()");
        if (first_row > shape[0] || rows > shape[0] - first_row)
            return invalid("first_row and rows are outside the first extent");
        buffer.parameter.by_rows = true;
        const uint64_t row_bytes = shape[0] ? bytes_of(buffer.parameter) / shape[0] : 0;
        buffer.offset = first_row * row_bytes;
        buffer.bytes = rows * row_bytes;
        return add(*rt, std::move(buffer));
    });
}

ringrt_status_t ringrt_restore(ringrt_t *rt, uint64_t *step) {
    return guard_alone(rt, [&] {
        if (!step) return invalid("step is NULL");
        Outcome restored = rt->boundary->restore(*step);
        if (restored.ok() && rt->exchange) rt->exchange->recall(rt->boundary->restored_gradients());
        return restored;
    });
}

ringrt_status_t ringrt_save(ringrt_t *rt, uint64_t step) {
    return guard_alone(rt, [&] { return rt->boundary->save(step); });
}

ringrt_status_t ringrt_step(ringrt_t *rt, uint64_t step, ringrt_action_t *action) {
    return guard_alone(rt, [&] {
        if (!action) return invalid("action is NULL");
        if (rt->left)
            return invalid("ringrt_step() said RINGRT_LEAVE: call ringrt_finalize() and end");
        Outcome stepped = rt->boundary->step(step, *action);
        rt->left = stepped.ok() && *action == RINGRT_LEAVE;
        return stepped;
    });
}

ringrt_status_t ringrt_set_loss(ringrt_t *rt, double loss, double goal) {
    return guard(rt, [&] {
        rt->boundary->note_loss(loss, goal);
        return Outcome{};
    });
}

ringrt_status_t ringrt_set_steps_left(ringrt_t *rt, uint64_t steps_left) {
    return guard(rt, [&] {
        if (steps_left > INT64_MAX) return invalid("steps_left is larger than 2^63 - 1");
        rt->boundary->set_steps_left(steps_left);
        return Outcome{};
    });
}

}  // extern "C"

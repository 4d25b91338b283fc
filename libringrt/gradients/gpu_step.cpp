// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/gpu_step.h"

#include <algorithm>
#include <utility>

#include "libringrt/base/clock.h"
#include "libringrt/base/dtype.h"

namespace ringrt {

GpuStep::GpuStep(Communicator &communicator, const GradientSum &sum, size_t gradients)
    : communicator_(communicator), sum_(sum), sums_there_(gradients) {
    now_.ready.resize(gradients);
}

GpuStep::~GpuStep() {
    for (const auto &[id, memory] : zeros_) communicator_.device().free(memory);
}

Status GpuStep::mark(Gpu::Event *out) { return communicator_.device().mark(out); }

void GpuStep::ready(uint32_t id, Gpu::Event marked) {
    if (now_.first == nullptr) now_.first = marked;
    now_.ready[id] = std::move(marked);
}

Status GpuStep::wait(uint32_t id) {
    Wait wait{.id = id, .begun = nullptr, .ended = nullptr};
    RINGRT_TRY(mark(&wait.begun));
    if (sums_there_[id] != nullptr)
        RINGRT_TRY(communicator_.device().make_stream_wait(sums_there_[id]));
    RINGRT_TRY(mark(&wait.ended));
    now_.waits.push_back(std::move(wait));
    return {};
}

void GpuStep::end() {
    ended_ = std::exchange(now_, {});
    now_.ready.resize(sums_there_.size());
}

ringrt_status_t GpuStep::open(const void *memory) {
    if (std::exchange(opened_, true)) return RINGRT_OK;
    const Work work =
        sum_of(memory, const_cast<void *>(memory), 1, sum_.dtype, sum_.op, sum_.ranks);
    return communicator_.with_device([&](DeviceCollectives &device) {
        bool in_stream_order = false;
        Status opened = device.open(work, &in_stream_order);
        mirrored_ = !in_stream_order;
        return opened;
    });
}

ringrt_status_t GpuStep::enqueue(const Layout &layout, size_t number,
                                 const std::vector<std::byte *> &gradients) {
    const Transfer &transfer = layout.transfers[number];
    const std::vector<Gpu::Call> calls = gpu_calls(layout, number, gradients, sum_);
    std::vector<Gpu::Event> after;
    for (const uint32_t atom : transfer.atoms) {
        const Gpu::Event &ready = now_.ready[layout.atoms[atom].gradient];
        if (transfer.reduces && ready != nullptr && (after.empty() || after.back() != ready))
            after.push_back(ready);
    }
    Sent sent{.at = {},
              .bytes = static_cast<double>(transfer.bytes),
              .reduces = transfer.reduces,
              .in_one = is_allreduce(layout, number)};
    const ringrt_status_t status = communicator_.with_device(
        [&](DeviceCollectives &device) { return device.enqueue(calls, after, &sent.at); });
    if (status != RINGRT_OK) return status;
    for (const uint32_t atom : transfer.atoms)
        if (!transfer.reduces) sums_there_[layout.atoms[atom].gradient] = sent.at.ended;
    if (!calls.empty()) sent_.push_back(std::move(sent));
    return RINGRT_OK;
}

std::byte *GpuStep::mirror(uint32_t id, uint64_t bytes) {
    mirrors_[id].resize(bytes);
    return mirrors_[id].data();
}

ringrt_status_t GpuStep::to_mirror(const Layout &layout, const Transfer &transfer,
                                   const std::vector<std::byte *> &gradients) {
    return communicator_.with_device([&](DeviceCollectives &device) -> Status {
        for (const uint32_t atom : transfer.atoms) {
            const auto &[gradient, offset, bytes, share_bytes, shard_offset] = layout.atoms[atom];
            RINGRT_TRY(device.copy_now(mirrors_[gradient].data() + offset,
                                       gradients[gradient] + offset, bytes, now_.ready[gradient]));
        }
        return {};
    });
}

ringrt_status_t GpuStep::from_mirror(const Layout &layout, const Transfer &transfer,
                                     const std::vector<std::byte *> &gradients) {
    return communicator_.with_device([&](DeviceCollectives &device) -> Status {
        for (const uint32_t atom : transfer.atoms) {
            const auto &[gradient, offset, bytes, share_bytes, shard_offset] = layout.atoms[atom];
            RINGRT_TRY(device.copy_now(gradients[gradient] + offset,
                                       mirrors_[gradient].data() + offset, bytes));
        }
        return {};
    });
}

// Ordered after the program stream's remaining use of an earlier step's sum.
ringrt_status_t GpuStep::zeros(uint32_t id, uint64_t bytes, std::byte **out) {
    constexpr uint64_t kPiece = 1 << 20;
    host_zeros_.resize(std::max<uint64_t>(host_zeros_.size(), std::min(bytes, kPiece)));
    return communicator_.with_device([&](DeviceCollectives &device) -> Status {
        void *&memory = zeros_[id];
        if (memory == nullptr) RINGRT_TRY(device.alloc(bytes, &memory));
        *out = static_cast<std::byte *>(memory);
        for (uint64_t at = 0; at < bytes; at += kPiece)
            RINGRT_TRY(device.copy_now(*out + at, host_zeros_.data(), std::min(kPiece, bytes - at),
                                       now_.first));
        return {};
    });
}

ringrt_status_t GpuStep::summed(bool *out) {
    *out = true;
    return sent_.empty() ? RINGRT_OK : passed(sent_.back().at.ended, out);
}

ringrt_status_t GpuStep::over(bool *out) { return passed(ended_.waits.back().ended, out); }

ringrt_status_t GpuStep::passed(const Gpu::Event &event, bool *out) {
    const Status asked = communicator_.device().passed(event, out);
    if (asked.ok()) return communicator_.failure();
    return communicator_.with_device([&](DeviceCollectives &) { return asked; });
}

std::optional<double> GpuStep::at(const Gpu::Event &event) {
    double us = 0;
    if (event == nullptr || !communicator_.device().between(base_, event, &us).ok())
        return std::nullopt;  // its stream has not passed the mark: no failure
    return base_us_ + us;
}

void GpuStep::trace_sent(const Sent &sent, Trace &trace) {
    const auto begun = at(sent.at.begun), ended = at(sent.at.ended);
    const std::string what = sent.in_one    ? "allreduce "
                             : sent.reduces ? "reduce-scatter "
                                            : "all-gather ";
    if (begun && ended)
        trace.add(Trace::link, what + std::to_string(static_cast<uint64_t>(sent.bytes)) + " bytes",
                  *begun, *ended);
}

void GpuStep::report(Learner &learner, Trace &trace, const std::vector<std::string> &names) {
    if (base_ == nullptr) base_ = ended_.first, base_us_ = now_us();
    StepProfiler &calls = learner.calls();
    if (const auto first = at(ended_.first)) calls.begin_backward(*first);
    for (uint32_t id = 0; id < ended_.ready.size(); ++id) {
        const auto ready = at(ended_.ready[id]);
        if (ready) calls.ready(id, *ready);
        if (ready && trace.on()) trace.add(Trace::gradients, names[id], *ready, *ready);
    }
    for (const Wait &wait : ended_.waits) {
        const auto begun = at(wait.begun), ended = at(wait.ended);
        if (!begun || !ended) continue;
        if (&wait != &ended_.waits.front()) calls.begin_wait(*begun);
        calls.end_wait(wait.id, *ended);
        if (trace.on()) trace.add(Trace::waits, names[wait.id], *begun, *ended);
    }
    for (const Sent &sent : std::exchange(sent_, {})) {
        double us = 0;
        if (!communicator_.device().between(sent.at.begun, sent.at.ended, &us).ok()) continue;
        // An allreduce counts as both phases of its block.
        for (int phase = 0; phase < (sent.in_one ? 2 : 1); ++phase)
            learner.sent(sent.bytes, sent.in_one ? us / 2 : us);
        if (trace.on()) trace_sent(sent, trace);
    }
    if (const auto last = at(ended_.waits.back().ended)) {
        base_us_ = *last;
        base_ = ended_.waits.back().ended;
    }
    learner.end_step();
}

}  // namespace ringrt

// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/hierarchical.h"

#include <memory>

#include "libringrt/shm/chunks.h"

namespace ringrt {
namespace {

enum Slot : uint32_t { kUp = 0, kDown = 1 };

// Chunks pass four points in order: staged, reduced (this node's part is added), resulted (the
// share's result has arrived and is shown), taken. Each counter holds the number of chunks that
// have passed.
class HierarchicalAllreduce {
  public:
    HierarchicalAllreduce(const Work &work, const OpHeader &call, const RankContext &self,
                          const Rail &rail, ShmSegment &memory, Transport &transport,
                          uint64_t base);
    Status run();
    [[nodiscard]] size_t number() const { return chunks_.number(); }

  private:
    struct Lane {
        Message sum_in, sum_out, result_in, result_out;
        std::unique_ptr<std::byte[]> before, after;  // partial sums
    };
    Status stage(size_t i);
    Status reduce_share(size_t i);
    Status pass_result(size_t i);
    void take(size_t i);
    Status step(bool *moved);
    Status rest(Deadline *deadline);
    [[nodiscard]] bool can_stage() const;
    [[nodiscard]] bool can_reduce() const;
    [[nodiscard]] bool is_open(ShmSegment::GateKind kind, size_t i) const {
        return memory_.is_open(kind, base_ + i);
    }

    Lane &lane(size_t i) { return lanes_[i % memory_.shape().slots]; }
    const Lane &lane(size_t i) const { return lanes_[i % memory_.shape().slots]; }
    [[nodiscard]] Share mine(size_t i) const {
        return Chunks::part(chunks_.chunk(i).count, line_, memory_.count(), memory_.index());
    }
    [[nodiscard]] std::byte *shown(size_t i) const {
        return memory_.results(base_ + i) + mine(i).first * size_;
    }
    [[nodiscard]] std::byte *output(size_t i, size_t element) const {
        return static_cast<std::byte *>(work_.output) + (chunks_.chunk(i).first + element) * size_;
    }
    [[nodiscard]] const std::byte *input(size_t i, size_t element) const {
        return static_cast<const std::byte *>(work_.input) +
               (chunks_.chunk(i).first + element) * size_;
    }
    // Copies all of chunk i except this rank's share; `place` and `from` point to the chunk's first
    // element.
    void copy_others(size_t i, std::byte *place, const std::byte *from) const;
    Status send(Message *message, int peer, size_t i, Slot slot, std::byte *data, size_t bytes);
    Status receive(Message *message, int peer, size_t i, Slot slot, std::byte *data, size_t bytes);

    const Work &work_;
    const OpHeader &call_;
    const RankContext &self_;
    Rail rail_;
    ShmSegment &memory_;
    Transport &transport_;
    uint64_t base_;
    size_t size_, line_;
    Chunks chunks_;
    size_t staged_ = 0, reduced_ = 0, resulted_ = 0, taken_ = 0;
    std::vector<Lane> lanes_;
};

HierarchicalAllreduce::HierarchicalAllreduce(const Work &work, const OpHeader &call,
                                             const RankContext &self, const Rail &rail,
                                             ShmSegment &memory, Transport &transport,
                                             uint64_t base)
    : work_(work),
      call_(call),
      self_(self),
      rail_(rail),
      memory_(memory),
      transport_(transport),
      base_(base),
      size_(work.element_bytes),
      line_(64 / work.element_bytes),
      chunks_{.count = work.count, .each = memory.shape().chunk_bytes / work.element_bytes},
      lanes_(memory.shape().slots) {
    size_t share_elements =
        Chunks::part(std::min(chunks_.each, work.count), line_, memory.count(), 0).count;
    for (Lane &each : lanes_) {
        each.before.reset(new std::byte[share_elements * partial_bytes(work.dtype) + 1]);
        each.after.reset(new std::byte[share_elements * partial_bytes(work.dtype) + 1]);
    }
}

Status HierarchicalAllreduce::send(Message *message, int peer, size_t i, Slot slot, std::byte *data,
                                   size_t bytes) {
    message->peer = peer, message->segment = uint32_t(i), message->slot = slot;
    message->pieces.clear();
    if (bytes > 0) message->pieces.emplace_back(data, bytes);
    return transport_.send(message);
}

Status HierarchicalAllreduce::receive(Message *message, int peer, size_t i, Slot slot,
                                      std::byte *data, size_t bytes) {
    message->peer = peer, message->segment = uint32_t(i), message->slot = slot;
    message->pieces.clear();
    if (bytes > 0) message->pieces.emplace_back(data, bytes);
    return transport_.receive(message);
}

void HierarchicalAllreduce::copy_others(size_t i, std::byte *place, const std::byte *from) const {
    Share own = mine(i);
    size_t after = own.first + own.count;
    copy(place, from, own.first * size_, StoreHint::Cached);
    copy(place + after * size_, from + after * size_, (chunks_.chunk(i).count - after) * size_,
         StoreHint::Cached);
}

Status HierarchicalAllreduce::stage(size_t i) {
    Lane &at = lane(i);
    size_t count = mine(i).count;
    if (rail_.before >= 0) {
        RINGRT_TRY(receive(&at.sum_in, rail_.before, i, kUp, at.before.get(),
                           count * partial_bytes(work_.dtype)));
    }
    if (rail_.after >= 0)
        RINGRT_TRY(receive(&at.result_in, rail_.after, i, kDown, shown(i), count * size_));
    copy_others(i, memory_.staging(memory_.index(), base_ + i), input(i, 0));
    memory_.arrive(ShmSegment::Staged, base_ + i);
    return {};
}

Status HierarchicalAllreduce::reduce_share(size_t i) {
    if (i == 0) RINGRT_TRY(memory_.compare(call_));
    Lane &at = lane(i);
    Share own = mine(i);
    std::vector<const void *> sources;
    for (int r = 0; r < memory_.count(); ++r) {
        sources.push_back(r == memory_.index() ? input(i, own.first)
                                               : memory_.staging(r, base_ + i) + own.first * size_);
    }
    bool last = rail_.after < 0;
    reduce({.dtype = work_.dtype,
            .op = work_.op,
            .ranks = work_.ranks,
            .partial = rail_.before >= 0 ? at.before.get() : nullptr,
            .sources = sources,
            .finish = last,
            .out = last ? shown(i) : at.after.get(),
            .count = own.count});
    if (last) return {};
    return send(&at.sum_out, rail_.after, i, kUp, at.after.get(),
                own.count * partial_bytes(work_.dtype));
}

Status HierarchicalAllreduce::pass_result(size_t i) {
    Share own = mine(i);
    copy(output(i, own.first), shown(i), own.count * size_, StoreHint::Cached);
    memory_.arrive(ShmSegment::Reduced, base_ + i);
    if (rail_.before < 0) return {};
    return send(&lane(i).result_out, rail_.before, i, kDown, shown(i), own.count * size_);
}

void HierarchicalAllreduce::take(size_t i) {
    copy_others(i, output(i, 0), memory_.results(base_ + i));
}

bool HierarchicalAllreduce::can_stage() const {
    if (staged_ == number() || staged_ >= taken_ + lanes_.size()) return false;
    const Lane &at = lane(staged_);  // its previous messages must have left
    return at.sum_out.done && at.result_out.done;
}

bool HierarchicalAllreduce::can_reduce() const {
    return reduced_ < staged_ && is_open(ShmSegment::Staged, reduced_) &&
           lane(reduced_).sum_in.done;
}

Status HierarchicalAllreduce::step(bool *moved) {
    for (; can_stage(); ++staged_, *moved = true) RINGRT_TRY(stage(staged_));
    for (; can_reduce(); ++reduced_, *moved = true) RINGRT_TRY(reduce_share(reduced_));
    for (; resulted_ < reduced_ && lane(resulted_).result_in.done; ++resulted_, *moved = true) {
        RINGRT_TRY(pass_result(resulted_));
    }
    for (; taken_ < resulted_ && is_open(ShmSegment::Reduced, taken_); ++taken_, *moved = true)
        take(taken_);
    return {};
}

// Sleeps until the oldest chunk can progress: at a gate of this node, or on the network.
Status HierarchicalAllreduce::rest(Deadline *deadline) {
    constexpr int kGlanceMs = 2;  // short, because the other of the two may progress as well
    bool at_staged = reduced_ < staged_ && !is_open(ShmSegment::Staged, reduced_);
    bool at_reduced = taken_ < resulted_;
    bool moved = false;
    if (at_reduced && resulted_ == number()) {
        RINGRT_TRY(transport_.progress(0, &moved));
        if (!moved) memory_.sleep_at_gate(ShmSegment::Reduced, base_ + taken_, kGlanceMs);
    } else if (at_staged) {
        RINGRT_TRY(transport_.progress(0, &moved));
        if (!moved) memory_.sleep_at_gate(ShmSegment::Staged, base_ + reduced_, kGlanceMs);
    } else {
        RINGRT_TRY(transport_.progress(at_reduced ? kGlanceMs : kSliceMs, &moved));
    }
    if (moved) return {};
    int silent = at_staged    ? memory_.waiting_for(ShmSegment::Staged, base_ + reduced_)
                 : at_reduced ? memory_.waiting_for(ShmSegment::Reduced, base_ + taken_)
                              : -1;
    if (silent >= 0) silent = memory_.blame(silent);
    RINGRT_TRY(transport_.waiting(silent, &silent));
    memory_.tell_waiting(silent);
    if (deadline->waited_ms() >= kSliceMs) RINGRT_TRY(memory_.check_peers(call_));
    return deadline->check(silent);
}

Status HierarchicalAllreduce::run() {
    transport_.begin(call_);
    std::string phase = describe(call_);
    Deadline deadline(self_, phase.c_str());
    auto flushed = [&] {
        for (const Lane &each : lanes_) {
            if (!each.sum_out.done || !each.result_out.done) return false;
        }
        return true;
    };
    while (taken_ < number() || !flushed()) {
        bool moved = false;
        RINGRT_TRY(step(&moved));
        if (!moved) RINGRT_TRY(transport_.progress(0, &moved));
        if (moved) deadline.refresh();
        if (!moved) RINGRT_TRY(rest(&deadline));
    }
    return {};
}

}  // namespace

Status hierarchical_allreduce(const Work &work, const OpHeader &call, const RankContext &self,
                              const Rail &rail, ShmSegment &memory, Transport &transport,
                              uint64_t *next_chunk) {
    memory.publish_op(call, nullptr, nullptr, 0);
    HierarchicalAllreduce across(work, call, self, rail, memory, transport, *next_chunk);
    *next_chunk += across.number();
    return concluded(self.rank, &transport, [&] { return across.run(); });
}

}  // namespace ringrt

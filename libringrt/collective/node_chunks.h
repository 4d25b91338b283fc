// SPDX-License-Identifier: BSD-3-Clause
// SharedPlaces over the shared segment: segment s of an operation is the node's chunk `first` + s.
#pragma once

#include "libringrt/schedule/shared_places.h"
#include "libringrt/shm/segment.h"

namespace ringrt {

class NodeChunks : public SharedPlaces {
  public:
    NodeChunks(ShmSegment &memory, uint64_t first, const OpHeader &call)
        : memory_(memory), first_(first), call_(call) {
        memory.publish_op(call);
    }
    [[nodiscard]] size_t place_bytes() const override { return memory_.shape().chunk_bytes; }
    [[nodiscard]] size_t segments_at_once() const override { return memory_.shape().slots; }
    [[nodiscard]] std::byte *stage(int index, size_t segment) const override {
        return memory_.staging(index, first_ + segment);
    }
    [[nodiscard]] std::byte *results(size_t segment) const override {
        return memory_.results(first_ + segment);
    }
    void arrive(Gate gate, size_t segment) override {
        memory_.arrive(kind(gate), first_ + segment);
        if (gate == Gate::Shown) passed_ = first_ + segment + 1;
    }
    [[nodiscard]] bool is_open(Gate gate, size_t segment) const override {
        return memory_.is_open(kind(gate), first_ + segment);
    }
    Status pass(Gate gate, size_t segment) override {
        return gate == Gate::Staged && segment == 0 ? memory_.compare(call_) : Status{};
    }
    void sleep(Gate gate, size_t segment, int sleep_ms) override {
        memory_.sleep_at_gate(kind(gate), first_ + segment, sleep_ms);
    }
    [[nodiscard]] int waiting_for(Gate gate, size_t segment) const override {
        return memory_.waiting_for(kind(gate), first_ + segment);
    }
    [[nodiscard]] int blame(int rank) const override { return memory_.blame(rank); }
    void tell_waiting(int blame) override { memory_.tell_waiting(blame); }
    Status check_peers() const override { return memory_.check_peers(call_); }

    [[nodiscard]] uint64_t next_chunk() const { return passed_; }  // after the operation

  private:
    static ShmSegment::GateKind kind(Gate gate) {
        return gate == Gate::Staged ? ShmSegment::Staged : ShmSegment::Reduced;
    }

    ShmSegment &memory_;
    uint64_t first_, passed_ = 0;
    const OpHeader &call_;
};

}  // namespace ringrt

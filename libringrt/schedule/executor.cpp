// SPDX-License-Identifier: BSD-3-Clause
// A window of segments is in flight. A segment enters the window only when the segment kWindow
// before it is done, and all its receives are posted then. The frame at the head of any stream is
// therefore for a segment that the receiver can finish, or one that waits for earlier segments
// whose frames came first. No cycle of waits can form.
#include "libringrt/schedule/executor.h"

#include <algorithm>
#include <optional>

#include "libringrt/schedule/run.h"

namespace ringrt {
namespace {

constexpr size_t kWindow = 4;

// Bytes of one block of one segment. Larger ones need fewer system calls, but delay data that
// becomes urgent. At most a megabyte is in flight to one rank, from all others and over the whole
// window: with more, the network queue to it overflows when all ranks send at once, and TCP slows
// down because it takes the loss for congestion. Two ranks have one connection, whose other
// direction is idle during the reduction of a segment, so their segments are shorter.
// An aggregated message holds many blocks, so these may be small.
size_t segment_bytes(int blocks, bool aggregated) {
    constexpr size_t kUnderWay = 1 << 20, kMost = 128 << 10, kOfTwo = 64 << 10;
    const size_t least = aggregated ? kLineBytes : 16 << 10;
    if (blocks == 2) return kOfTwo;
    return std::clamp(kUnderWay / kWindow / size_t(std::max(1, blocks - 1)), least, kMost);
}

// Executes all segments, a window of them at a time.
class Window {
  public:
    Window(Run &run, std::vector<Run::Lane> &lanes, size_t segments, const OpHeader &call,
           const RankContext &self, Transport *transport, SharedPlaces *node)
        : run_(run),
          lanes_(lanes),
          segments_(segments),
          phase_(describe(call)),
          deadline_(self, phase_.c_str()),
          transport_(*transport),
          node_(node) {
        transport->begin(call);
    }

    Status carry_out() {
        while (oldest_ < segments_ || !all_have_read()) {
            bool moved = false;
            for (; next_ < segments_ && next_ < oldest_ + lanes_.size() && run_.may_enter(next_);
                 ++next_) {
                RINGRT_TRY(run_.enter(&lane(next_), next_, &transport_));
            }
            for (size_t s = oldest_; s < next_; ++s)
                RINGRT_TRY(run_.advance(&lane(s), &transport_, &moved));
            while (oldest_ < next_ && run_.finished(lane(oldest_))) ++oldest_, moved = true;
            if (!moved) RINGRT_TRY(rest(&moved));
            if (moved) deadline_.refresh();
        }
        return {};
    }

  private:
    struct GateWait {
        Gate gate;
        size_t segment;
    };

    Run::Lane &lane(size_t segment) { return lanes_[segment % lanes_.size()]; }

    // The next operation stages its data where this one's last segments are.
    [[nodiscard]] bool all_have_read() const {
        return node_ == nullptr || node_->is_open(Gate::Shown, segments_ - 1);
    }

    // The gate that the oldest segment waits for. Later segments are less urgent.
    [[nodiscard]] std::optional<GateWait> first_gate() {
        if (node_ == nullptr) return {};
        if (oldest_ == segments_) return GateWait{Gate::Shown, segments_ - 1};
        if (oldest_ == next_) return GateWait{Gate::Shown, next_ - node_->segments_at_once()};
        if (auto gate = run_.gate_before(lane(oldest_))) return GateWait{*gate, oldest_};
        return {};
    }

    // Sleeps until there may be progress: at a gate of this node, or on the network.
    Status rest(bool *moved) {
        constexpr int kGlanceMs = 2;  // short, because the other of the two may progress as well
        const auto gate = first_gate();
        const int network_ms = node_ == nullptr ? deadline_.slice_ms() : kGlanceMs;
        RINGRT_TRY(transport_.progress(gate ? 0 : network_ms, moved));
        if (*moved) return {};
        if (gate) node_->sleep(gate->gate, gate->segment, kGlanceMs);
        int silent = gate ? node_->waiting_for(gate->gate, gate->segment) : -1;
        if (silent >= 0) silent = node_->blame(silent);
        RINGRT_TRY(transport_.waiting(silent, &silent));
        if (node_ != nullptr) node_->tell_waiting(silent);
        if (node_ != nullptr && deadline_.waited_ms() >= kSliceMs) RINGRT_TRY(node_->check_peers());
        return deadline_.check(silent);
    }

    Run &run_;
    std::vector<Run::Lane> &lanes_;
    size_t segments_, next_ = 0, oldest_ = 0;
    std::string phase_;
    Deadline deadline_;
    Transport &transport_;
    SharedPlaces *node_;
};

}  // namespace

Status execute(const Schedule &schedule, const Work &work, const OpHeader &call,
               const RankContext &self, Transport *transport, SharedPlaces *node) {
    const auto blocks = size_t(schedule.blocks);
    const size_t block_bytes = (work.count + blocks - 1) / blocks * work.element_bytes;
    size_t most = segment_bytes(schedule.blocks, schedule.aggregated), window = kWindow;
    if (node != nullptr) {  // a segment's blocks fill one place; each starts on its own cache line
        most = node->place_bytes() / blocks / kLineBytes * kLineBytes;
        window = node->segments_at_once();
    }
    const size_t segments = std::max<size_t>(1, (block_bytes + most - 1) / most);
    Run run(schedule, work, segments, node);
    std::vector<Run::Lane> lanes(std::min(window, segments));  // must outlive the abort notice
    return concluded(self.rank, transport, [&] {
        return Window(run, lanes, segments, call, self, transport, node).carry_out();
    });
}

}  // namespace ringrt

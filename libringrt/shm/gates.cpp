// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a node wait for each other: gates, and which rank is reported at a closed one.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "libringrt/shm/futex.h"
#include "libringrt/shm/segment.h"

namespace ringrt {
namespace {

constexpr int kFirstLookMs = 10;
constexpr int kSpins = 2000;
constexpr int kYields = 10;       // if ranks share cores: each yields to another rank
constexpr int kSpinsAsleep = 50;  // before sleepers at an open gate are woken

int64_t steady_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
        .count();
}

}  // namespace

void ShmSegment::count_cores() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int i = 0; i < count(); ++i) CPU_OR(&all, &all, &control_block(i).cores);
    crowded_ = count() > CPU_COUNT(&all);
}

void ShmSegment::publish_op(const OpHeader &call, const void *send, const void *recv,
                            size_t bytes) {
    ControlBlock &mine = control_block(index_);
    if (mine.calls[call.number % 2] == call) return;  // already published
    mine.calls[call.number % 2] = call;
    if (bytes > 0) mine.places[call.number % 2] = {offset_of(send, bytes), offset_of(recv, bytes)};
}

Status ShmSegment::compare(const OpHeader &call) const {
    for (int i = 0; i < count(); ++i) {
        const OpHeader &other = control_block(i).calls[call.number % 2];
        if (other == call) continue;
        return {RINGRT_MISMATCH,
                format_text(
                    "rank %d calls %s where %s calls %s: all ranks must call the same operations "
                    "in the same order",
                    self_.rank, describe(call).c_str(), self_.name_of(rank_at(i)).c_str(),
                    describe(other).c_str()),
                rank_at(i)};
    }
    return {};
}

void ShmSegment::arrive(GateKind kind, uint64_t chunk) {
    arrive_and_wait_soon(kind, chunk);
    wake_sleepers();
}

void ShmSegment::arrive_and_wait_soon(GateKind kind, uint64_t chunk) {
    self_.pass_fault_point();
    control_block(index_).arrived[kind].store(chunk + 1, std::memory_order_release);
    wake_due_ = true;
}

bool ShmSegment::is_open(GateKind kind, uint64_t chunk) const {
    for (int i = 0; i < count(); ++i) {
        if (control_block(i).arrived[kind].load(std::memory_order_acquire) <= chunk) return false;
    }
    return true;
}

// Wakes the ranks that sleep at a gate which is now open. If two ranks arrive last at the same
// time, each stores before it checks, so at least one sees the other's arrival. A sleeper checks
// the gate after it announces its sleep.
void ShmSegment::wake_sleepers() {
    wake_due_ = false;
    full_fence();
    for (int i = 0; i < count(); ++i) {
        ControlBlock &other = control_block(i);
        if (i == index_ || other.asleep.load(std::memory_order_acquire) == 0) continue;
        auto kind = GateKind(other.wanted_kind.load(std::memory_order_relaxed) & 1);
        if (!is_open(kind, other.wanted_chunk.load(std::memory_order_relaxed))) continue;
        if (other.asleep.exchange(0) != 0) futex(&other.asleep, FUTEX_WAKE, 1, nullptr);
    }
}

void ShmSegment::sleep_at_gate(GateKind kind, uint64_t chunk, int sleep_ms) {
    ControlBlock &mine = control_block(index_);
    mine.wanted_kind.store(kind, std::memory_order_relaxed);
    mine.wanted_chunk.store(chunk, std::memory_order_relaxed);
    mine.asleep.store(1, std::memory_order_seq_cst);
    full_fence();
    timespec timeout{.tv_sec = 0, .tv_nsec = sleep_ms * 1000000L};
    if (!is_open(kind, chunk)) futex(&mine.asleep, FUTEX_WAIT, 1, &timeout);
    mine.asleep.store(0, std::memory_order_relaxed);
}

bool ShmSegment::spin(GateKind kind, uint64_t chunk) {
    for (int i = 0, spins = crowded_ ? kYields : kSpins; i < spins; ++i) {
        if (is_open(kind, chunk)) return true;
        if (wake_due_ && (crowded_ || i >= kSpinsAsleep)) wake_sleepers();
        if (crowded_) sched_yield();
        if (!crowded_) relax();
    }
    return false;
}

Status ShmSegment::wait(GateKind kind, uint64_t chunk, const OpHeader &call) {
    bool open = spin(kind, chunk);
    if (wake_due_) wake_sleepers();
    if (open) return {};
    std::string phase = describe(call);
    Deadline deadline(self_, phase.c_str());
    // Short at first, to detect a rank that died while this one computed; later slices double.
    int slice_ms = kFirstLookMs;
    for (auto looked = Clock::now(); !is_open(kind, chunk);) {
        sleep_at_gate(kind, chunk, slice_ms);
        // Sleeps may end early: check once per slice, not after each.
        if (Clock::now() - looked < std::chrono::milliseconds(slice_ms)) continue;
        looked = Clock::now();
        slice_ms = std::min(2 * slice_ms, kSliceMs);
        const Status peers = check_peers(call);
        // The last rank may arrive, and then leave, before its liveness is checked.
        if (is_open(kind, chunk)) break;
        RINGRT_TRY(peers);
        RINGRT_TRY(deadline.check(waiting_for(kind, chunk)));
    }
    return {};
}

int ShmSegment::waiting_for(GateKind kind, uint64_t chunk) const {
    // All ranks arrive at the same gates in the same order, so the rank with the smallest sum is
    // furthest behind. The others may be waiting for it.
    auto passed = [&](int i) {
        const auto &arrived = control_block(i).arrived;
        return arrived[Staged].load(std::memory_order_relaxed) +
               arrived[Reduced].load(std::memory_order_relaxed);
    };
    int slowest = -1;
    for (int i = 0; i < count(); ++i) {
        if (i == index_ || control_block(i).arrived[kind].load(std::memory_order_relaxed) > chunk)
            continue;
        if (slowest < 0 || passed(i) < passed(slowest)) slowest = i;
    }
    return slowest < 0 ? -1 : rank_at(slowest);
}

void ShmSegment::tell_waiting(int blame) {
    ControlBlock &mine = control_block(index_);
    mine.blames.store(blame, std::memory_order_relaxed);
    mine.blames_since_ms.store(steady_ms(), std::memory_order_release);
}

int ShmSegment::blame(int rank) const {
    const auto mate = std::find(ranks_.begin(), ranks_.end(), rank);
    if (mate == ranks_.end()) return rank;
    const ControlBlock &other = control_block(int(mate - ranks_.begin()));
    // A waiting rank says so at least every kSliceMs; a stopped one does not.
    const int64_t old_ms = std::min<int64_t>(self_.timeout_ms / 2, 2000) + kSliceMs;
    if (steady_ms() - other.blames_since_ms.load(std::memory_order_acquire) > old_ms) return rank;
    const int blames = other.blames.load(std::memory_order_relaxed);
    return blames < 0 || blames == self_.rank ? rank : blames;
}

Status ShmSegment::check_peers(const OpHeader &call) const {
    for (int i = 0; i < count(); ++i) {
        ControlBlock &other = control_block(i);
        if (i == index_) continue;
        if (other.notice.load(std::memory_order_acquire) != 0) {
            int failed_rank = std::clamp(int(other.failed_rank), 0, self_.size - 1);
            return {RINGRT_PEER_LOST,
                    format_text("rank %d: %s is lost during %s; %s reported: %.240s", self_.rank,
                                self_.name_of(failed_rank).c_str(), describe(call).c_str(),
                                self_.name_of(rank_at(i)).c_str(), other.line),
                    failed_rank};
        }
        struct flock lock {};
        lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET, lock.l_start = i, lock.l_len = 1;
        bool same_process = other.process == control_block(index_).process;
        if (same_process || fcntl(fd_.get(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK)
            continue;
        if (other.left.load(std::memory_order_acquire) != 0 && call.kind == kFinish) continue;
        return {RINGRT_PEER_LOST,
                format_text("rank %d: %s is lost (it died or left) during %s", self_.rank,
                            self_.name_of(rank_at(i)).c_str(), describe(call).c_str()),
                rank_at(i)};
    }
    return {};
}

}  // namespace ringrt

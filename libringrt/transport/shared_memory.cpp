// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace ringrt {
namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kMagic = 0x31304d4852474e52;  // "RNGRHM01"
constexpr int kSpins = 2000, kSpinsCrowded = 20;

struct FileHeader {
    uint64_t magic;
    uint64_t ranks, slots, chunk_bytes, heap_bytes;
    alignas(64) Gate gates[2][kSlotsMax];
};

size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

uint64_t this_process() {
    static const uint64_t number = [] {
        uint64_t random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random) random = uint64_t(getpid());
        return random;
    }();
    return number ^ uint64_t(getpid());  // a forked child is another one
}

int usable_cores() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

long futex(std::atomic<uint32_t> *word, int operation, uint32_t value, const timespec *timeout) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t *>(word), operation, value, timeout,
                   nullptr, 0);
}

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

Status system_error(const World &world, const char *what) {
    return {RINGRT_SYSTEM_ERROR,
            format_line("rank %d: shared memory: %s: %s", world.rank, what, strerror(errno))};
}

bool older(uint32_t a, uint32_t b) { return int32_t(a - b) < 0; }  // a < b, around the wrap

}  // namespace

NodeMemory::NodeMemory(const World &world, const std::vector<int> &ranks, const Shape &shape)
    : world_(world), ranks_(ranks), shape_(shape) {
    index_ = int(std::find(ranks.begin(), ranks.end(), world.rank) - ranks.begin());
    spins_ = count() <= usable_cores() ? kSpins : kSpinsCrowded;
}

NodeMemory::~NodeMemory() {
    unlink();
    if (base_ != nullptr) {
        board(index_).left.store(1, std::memory_order_release);
        munmap(base_, bytes_);
    }
}

size_t NodeMemory::control_bytes() const {
    return pages(sizeof(FileHeader)) + pages(sizeof(RankBoard) * size_t(count()));
}

size_t NodeMemory::fixed_bytes() const {
    size_t per_slot = shape_.chunk_bytes * (size_t(count()) + 1);
    return control_bytes() + per_slot * shape_.slots;
}

Status NodeMemory::map(Fd fd) {
    bytes_ = fixed_bytes() + shape_.heap_bytes * size_t(count());
    void *mapped =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
    if (mapped == MAP_FAILED) return system_error(world_, "mmap");
    base_ = static_cast<std::byte *>(mapped);
    fd_ = std::move(fd);
    RINGRT_TRY(take_lock());
    board(index_).process = this_process();
    return {};
}

Status NodeMemory::take_lock() {
    struct flock lock {};
    lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET, lock.l_start = index_, lock.l_len = 1;
    return fcntl(fd_.get(), F_SETLK, &lock) == 0 ? Status{} : system_error(world_, "lock");
}

Status NodeMemory::create(const World &world, const std::vector<int> &ranks, const Shape &shape,
                          std::string *name, std::unique_ptr<NodeMemory> *out) {
    std::unique_ptr<NodeMemory> memory(new NodeMemory(world, ranks, shape));
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return system_error(world, "getrandom");
    *name =
        format_line("/dev/shm/ringrt-%016llx%016llx", static_cast<unsigned long long>(random[0]),
                    static_cast<unsigned long long>(random[1]));
    Fd fd(open(name->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return system_error(world, name->c_str());
    memory->path_ = *name;
    size_t fixed = memory->fixed_bytes();
    // Reserved now: a full /dev/shm is an error here, not a SIGBUS later.
    if (int error = posix_fallocate(fd.get(), 0, off_t(fixed)); error != 0) {
        return {RINGRT_NO_MEMORY, format_line("rank %d: /dev/shm has no room for %zu bytes: %s",
                                              world.rank, fixed, strerror(error))};
    }
    if (ftruncate(fd.get(), off_t(fixed + shape.heap_bytes * ranks.size())) != 0) {
        return system_error(world, "ftruncate");
    }
    RINGRT_TRY(memory->map(std::move(fd)));
    auto *header = reinterpret_cast<FileHeader *>(memory->base_);
    header->ranks = ranks.size(), header->slots = shape.slots;
    header->chunk_bytes = shape.chunk_bytes, header->heap_bytes = shape.heap_bytes;
    header->magic = kMagic;
    *out = std::move(memory);
    return {};
}

Status NodeMemory::join(const World &world, const std::vector<int> &ranks, const Shape &shape,
                        const std::string &name, std::unique_ptr<NodeMemory> *out) {
    std::unique_ptr<NodeMemory> memory(new NodeMemory(world, ranks, shape));
    Fd fd(open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) return system_error(world, name.c_str());
    RINGRT_TRY(memory->map(std::move(fd)));
    const auto *header = reinterpret_cast<const FileHeader *>(memory->base_);
    bool same = header->magic == kMagic && header->ranks == ranks.size() &&
                header->slots == shape.slots && header->chunk_bytes == shape.chunk_bytes &&
                header->heap_bytes == shape.heap_bytes;
    if (!same)
        return {RINGRT_MISMATCH,
                format_line("rank %d: %s is not this job's", world.rank, name.c_str())};
    *out = std::move(memory);
    return {};
}

void NodeMemory::unlink() {
    if (!path_.empty()) ::unlink(path_.c_str());
    path_.clear();
}

std::byte *NodeMemory::staging(int index, uint64_t chunk) const {
    size_t slot = chunk % shape_.slots;
    return base_ + control_bytes() +
           (slot * (size_t(count()) + 1) + size_t(index)) * shape_.chunk_bytes;
}

std::byte *NodeMemory::results(uint64_t chunk) const { return staging(count(), chunk); }

RankBoard &NodeMemory::board(int index) const {
    return reinterpret_cast<RankBoard *>(base_ + pages(sizeof(FileHeader)))[index];
}

Gate &NodeMemory::gate(GateKind kind, uint64_t chunk) const {
    return reinterpret_cast<FileHeader *>(base_)->gates[kind][chunk % shape_.slots];
}

uint32_t NodeMemory::target(uint64_t chunk) const {
    return uint32_t(uint64_t(count()) * (chunk / shape_.slots + 1));
}

void NodeMemory::announce(const Call &call, const void *send, const void *recv, size_t bytes) {
    RankBoard &mine = board(index_);
    mine.calls[call.number % 4] = call;
    mine.places[call.number % 4] = {offset_of(send, bytes), offset_of(recv, bytes)};
}

Status NodeMemory::compare(const Call &call) const {
    for (int i = 0; i < count(); ++i) {
        const Call &other = board(i).calls[call.number % 4];
        if (other == call) continue;
        return {RINGRT_MISMATCH,
                format_line(
                    "rank %d calls %s where %s calls %s: all ranks must call the same operations "
                    "in the same order",
                    world_.rank, describe(call).c_str(), world_.name_of(rank_at(i)).c_str(),
                    describe(other).c_str()),
                rank_at(i)};
    }
    return {};
}

void NodeMemory::arrive(GateKind kind, uint64_t chunk) {
    if (kind == Staged) board(index_).chunk.store(chunk + 1, std::memory_order_relaxed);
    Gate &at = gate(kind, chunk);
    uint32_t arrivals = at.arrivals.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (arrivals != target(chunk)) return;
    if (at.sleepers.load(std::memory_order_seq_cst) > 0)
        futex(&at.arrivals, FUTEX_WAKE, INT_MAX, nullptr);
}

bool NodeMemory::is_open(GateKind kind, uint64_t chunk) const {
    return !older(gate(kind, chunk).arrivals.load(std::memory_order_acquire), target(chunk));
}

void NodeMemory::nap(GateKind kind, uint64_t chunk, int sleep_ms) {
    Gate &at = gate(kind, chunk);
    at.sleepers.fetch_add(1, std::memory_order_seq_cst);
    uint32_t seen = at.arrivals.load(std::memory_order_seq_cst);
    if (older(seen, target(chunk))) {
        timespec timeout{.tv_sec = 0, .tv_nsec = sleep_ms * 1000000L};
        futex(&at.arrivals, FUTEX_WAIT, seen, &timeout);
    }
    at.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

Status NodeMemory::wait(GateKind kind, uint64_t chunk, const Call &call) {
    for (int i = 0; i < spins_; ++i) {
        if (is_open(kind, chunk)) return {};
        relax();
    }
    std::string phase = describe(call);
    Patience patience(world_, phase.c_str());
    for (auto looked = Clock::now(); !is_open(kind, chunk);) {
        nap(kind, chunk, kSliceMs);
        // Other ranks' arrivals end a nap too: look around once a slice, not after each.
        if (Clock::now() - looked < std::chrono::milliseconds(kSliceMs)) continue;
        looked = Clock::now();
        if (is_open(kind, chunk)) break;
        RINGRT_TRY(look_around(call));
        RINGRT_TRY(patience.check(waiting_for(kind, chunk)));
    }
    return {};
}

int NodeMemory::waiting_for(GateKind kind, uint64_t chunk) const {
    // Who has staged may still fold: then it is whoever is furthest behind.
    int slowest = -1;
    for (int i = 0; i < count(); ++i) {
        uint64_t at = board(i).chunk.load(std::memory_order_relaxed);
        if (i == index_ || (kind == Staged && at > chunk)) continue;
        if (slowest < 0 || at < board(slowest).chunk.load(std::memory_order_relaxed)) slowest = i;
    }
    return slowest < 0 ? -1 : rank_at(slowest);
}

Status NodeMemory::look_around(const Call &call) const {
    for (int i = 0; i < count(); ++i) {
        RankBoard &other = board(i);
        if (i == index_) continue;
        if (other.farewell.load(std::memory_order_acquire) != 0) {
            int culprit = std::clamp(int(other.culprit), 0, world_.size - 1);
            return {RINGRT_PEER_LOST,
                    format_line("rank %d: %s is lost during %s; %s told: %.240s", world_.rank,
                                world_.name_of(culprit).c_str(), describe(call).c_str(),
                                world_.name_of(rank_at(i)).c_str(), other.line),
                    culprit};
        }
        struct flock lock {};
        lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET, lock.l_start = i, lock.l_len = 1;
        bool same_process = other.process == board(index_).process;
        if (same_process || fcntl(fd_.get(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK)
            continue;
        if (other.left.load(std::memory_order_acquire) != 0 && call.kind == kFinish) continue;
        return {RINGRT_PEER_LOST,
                format_line("rank %d: %s is lost (it died or left) during %s", world_.rank,
                            world_.name_of(rank_at(i)).c_str(), describe(call).c_str()),
                rank_at(i)};
    }
    return {};
}

void NodeMemory::farewell(int culprit, const Status &why) {
    RankBoard &mine = board(index_);
    if (culprit < 0) {
        mine.left.store(1, std::memory_order_release);
        return;
    }
    mine.culprit = culprit;
    snprintf(mine.line, sizeof mine.line, "%s", why.line.c_str());
    mine.farewell.store(1, std::memory_order_release);
}

Status NodeMemory::alloc(size_t bytes, void **out) {
    std::lock_guard lock(heap_mutex_);
    size_t wanted = pages(std::max<size_t>(bytes, 1));
    size_t heap = fixed_bytes() + shape_.heap_bytes * size_t(index_), first = 0;
    auto place = used_.begin();
    for (; place != used_.end() && place->first - first < wanted; ++place) {
        first = place->first + place->bytes;
    }
    int error = ENOMEM;
    if (wanted >= bytes && wanted <= shape_.heap_bytes && first <= shape_.heap_bytes - wanted) {
        error = posix_fallocate(fd_.get(), off_t(heap + first), off_t(wanted));
    }
    if (error != 0) {
        return {RINGRT_NO_MEMORY,
                format_line("rank %d: no shared memory for %zu bytes (%s): make "
                            "/dev/shm larger, or use ordinary memory",
                            world_.rank, bytes, strerror(error)),
                -1, false};
    }
    used_.insert(place, {first, wanted});
    *out = base_ + heap + first;
    return {};
}

Status NodeMemory::free(void *memory) {
    std::lock_guard lock(heap_mutex_);
    auto at = size_t(static_cast<std::byte *>(memory) - base_);
    size_t heap = fixed_bytes() + shape_.heap_bytes * size_t(index_);
    for (auto each = used_.begin(); each != used_.end(); ++each) {
        if (heap + each->first != at) continue;
        // Given back to the system, and zero when it comes again.
        fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(at),
                  off_t(each->bytes));
        used_.erase(each);
        return {};
    }
    return {RINGRT_INVALID_ARGUMENT,
            format_line("rank %d: this memory was not made by alloc", world_.rank)};
}

uint64_t NodeMemory::offset_of(const void *memory, size_t bytes) const {
    auto start = reinterpret_cast<uintptr_t>(memory), base = reinterpret_cast<uintptr_t>(base_);
    uintptr_t heaps = base + fixed_bytes(), end = base + bytes_;
    return start >= heaps && start < end && bytes <= end - start ? start - base : kPrivate;
}

}  // namespace ringrt

// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/shm/segment.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libringrt/transport/frame.h"

namespace ringrt {
namespace {

constexpr size_t kPage = 4096;
// The gap between two ranks' heaps: a page and four cache lines. Ranks allocate the same buffers.
// With heaps a power of two apart, the lines of one element would not differ in any bit that AMD's
// way predictor uses (L1 microtags: bits 12 to 27; Lipp et al., "Take A Way", 2020) and would share
// a first-level set: a reduction of two ranks took up to twice as long.
constexpr size_t kHeapGap = kPage + 256;
constexpr uint64_t kMagic = 0x31304d4852474e52;  // "RNGRHM01"

struct FileHeader {
    uint64_t magic;
    uint64_t ranks, slots, chunk_bytes, heap_bytes;
};

size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

uint64_t this_process() {
    static const uint64_t number = [] {
        uint64_t random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random) random = uint64_t(getpid());
        return random;
    }();
    return number ^ uint64_t(getpid());  // a forked child is another process
}

Status system_error(const RankContext &self, const char *what) {
    return {RINGRT_SYSTEM_ERROR,
            format_text("rank %d: shared memory: %s: %s", self.rank, what, strerror(errno))};
}

}  // namespace

ShmSegment::ShmSegment(const RankContext &self, const std::vector<int> &ranks, const Shape &shape)
    : self_(self), ranks_(ranks), shape_(shape) {
    index_ = int(std::find(ranks.begin(), ranks.end(), self.rank) - ranks.begin());
}

ShmSegment::~ShmSegment() {
    unlink();
    if (base_ != nullptr) {
        control_block(index_).left.store(1, std::memory_order_release);
        munmap(base_, bytes_);
    }
}

size_t ShmSegment::boards_bytes() const {
    return pages(sizeof(FileHeader)) + pages(sizeof(ControlBlock) * size_t(count()));
}

size_t ShmSegment::control_bytes() const {
    return boards_bytes() + pages(sizeof(uint64_t) * size_t(count()) * size_t(count()));
}

std::atomic<uint64_t> &ShmSegment::ring(int from, int to) const {
    auto *offsets = reinterpret_cast<std::atomic<uint64_t> *>(base_ + boards_bytes());
    return offsets[size_t(from) * size_t(count()) + size_t(to)];
}

size_t ShmSegment::heap(int index) const {
    return fixed_bytes() + (shape_.heap_bytes + kHeapGap) * size_t(index);
}

size_t ShmSegment::fixed_bytes() const {
    return control_bytes() + shape_.chunk_bytes * shape_.slots * (size_t(count()) + 1);
}

Status ShmSegment::map(Fd fd) {
    bytes_ = heap(count());
    void *mapped =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
    if (mapped == MAP_FAILED) return system_error(self_, "mmap");
    base_ = static_cast<std::byte *>(mapped);
    fd_ = std::move(fd);
    RINGRT_TRY(take_lock());
    // Each rank reserves its own part, so that the system allocates it near the rank's core.
    RINGRT_TRY(reserve(size_t(staging(index_, 0) - base_), shape_.chunk_bytes * shape_.slots));
    // For speed only: huge pages if possible, and no page faults during an operation.
    madvise(base_, bytes_, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
    madvise(staging(index_, 0), shape_.chunk_bytes * shape_.slots, MADV_POPULATE_WRITE);
#endif
    control_block(index_).process = this_process();
    sched_getaffinity(0, sizeof control_block(index_).cores, &control_block(index_).cores);
    return {};
}

// Reserves now, so that a full /dev/shm is an error here and not a SIGBUS later.
Status ShmSegment::reserve(size_t first, size_t bytes) {
    int error = posix_fallocate(fd_.get(), off_t(first), off_t(bytes));
    if (error == 0) return {};
    return {RINGRT_NO_MEMORY, format_text("rank %d: /dev/shm has no room for %zu bytes: %s",
                                          self_.rank, bytes, strerror(error))};
}

Status ShmSegment::take_lock() {
    struct flock lock {};
    lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET, lock.l_start = index_, lock.l_len = 1;
    return fcntl(fd_.get(), F_SETLK, &lock) == 0 ? Status{} : system_error(self_, "lock");
}

Status ShmSegment::create(const RankContext &self, const std::vector<int> &ranks,
                          const Shape &shape, std::string *name, std::unique_ptr<ShmSegment> *out) {
    std::unique_ptr<ShmSegment> memory(new ShmSegment(self, ranks, shape));
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return system_error(self, "getrandom");
    *name =
        format_text("/dev/shm/ringrt-%016llx%016llx", static_cast<unsigned long long>(random[0]),
                    static_cast<unsigned long long>(random[1]));
    Fd fd(open(name->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return system_error(self, name->c_str());
    memory->path_ = *name;
    if (ftruncate(fd.get(), off_t(memory->heap(memory->count()))) != 0)
        return system_error(self, "ftruncate");
    int error = posix_fallocate(fd.get(), 0, off_t(memory->control_bytes()));  // map() writes there
    if (error != 0) {
        errno = error;
        return system_error(self, "/dev/shm");
    }
    RINGRT_TRY(memory->map(std::move(fd)));
    RINGRT_TRY(memory->reserve(memory->control_bytes(), shape.chunk_bytes * shape.slots));
    auto *header = reinterpret_cast<FileHeader *>(memory->base_);
    header->ranks = ranks.size(), header->slots = shape.slots;
    header->chunk_bytes = shape.chunk_bytes, header->heap_bytes = shape.heap_bytes;
    header->magic = kMagic;
    *out = std::move(memory);
    return {};
}

Status ShmSegment::join(const RankContext &self, const std::vector<int> &ranks, const Shape &shape,
                        const std::string &name, std::unique_ptr<ShmSegment> *out) {
    std::unique_ptr<ShmSegment> memory(new ShmSegment(self, ranks, shape));
    Fd fd(open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) return system_error(self, name.c_str());
    RINGRT_TRY(memory->map(std::move(fd)));
    const auto *header = reinterpret_cast<const FileHeader *>(memory->base_);
    bool same = header->magic == kMagic && header->ranks == ranks.size() &&
                header->slots == shape.slots && header->chunk_bytes == shape.chunk_bytes &&
                header->heap_bytes == shape.heap_bytes;
    if (!same)
        return {RINGRT_MISMATCH,
                format_text("rank %d: %s does not belong to this job", self.rank, name.c_str())};
    *out = std::move(memory);
    return {};
}

void ShmSegment::unlink() {
    if (!path_.empty()) ::unlink(path_.c_str());
    path_.clear();
}

std::byte *ShmSegment::results(uint64_t chunk) const {
    return base_ + control_bytes() + chunk % shape_.slots * shape_.chunk_bytes;
}

std::byte *ShmSegment::staging(int index, uint64_t chunk) const {
    return results(chunk) + (size_t(index) + 1) * shape_.slots * shape_.chunk_bytes;
}

ControlBlock &ShmSegment::control_block(int index) const {
    return reinterpret_cast<ControlBlock *>(base_ + pages(sizeof(FileHeader)))[index];
}

void ShmSegment::notify_abort(int failed_rank, const Status &why) {
    ControlBlock &mine = control_block(index_);
    if (failed_rank < 0) {
        mine.left.store(1, std::memory_order_release);
        return;
    }
    AbortNotice said = make_abort_notice(failed_rank, why);
    mine.failed_rank = said.failed_rank;
    snprintf(mine.line, sizeof mine.line, "%s", said.line);
    mine.notice.store(1, std::memory_order_release);
}

Status ShmSegment::alloc(size_t bytes, void **out) {
    std::lock_guard lock(heap_mutex_);
    size_t wanted = pages(std::max<size_t>(bytes, 1));
    size_t first = 0;
    auto place = used_.begin();
    for (; place != used_.end() && place->first - first < wanted; ++place) {
        first = place->first + place->bytes;
    }
    int error = ENOMEM;
    if (wanted >= bytes && wanted <= shape_.heap_bytes && first <= shape_.heap_bytes - wanted) {
        error = posix_fallocate(fd_.get(), off_t(heap(index_) + first), off_t(wanted));
    }
    if (error != 0) {
        return {RINGRT_NO_MEMORY,
                format_text("rank %d: no shared memory for %zu bytes (%s): make "
                            "/dev/shm larger, or use ordinary memory",
                            self_.rank, bytes, strerror(error)),
                -1, false};
    }
    used_.insert(place, {first, wanted});
    *out = base_ + heap(index_) + first;
    return {};
}

Status ShmSegment::free(void *memory) {
    std::lock_guard lock(heap_mutex_);
    auto at = size_t(static_cast<std::byte *>(memory) - base_);
    for (auto each = used_.begin(); each != used_.end(); ++each) {
        if (heap(index_) + each->first != at) continue;
        // Returned to the system, and zero when it is allocated again.
        fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(at),
                  off_t(each->bytes));
        used_.erase(each);
        return {};
    }
    return {RINGRT_INVALID_ARGUMENT,
            format_text("rank %d: this memory was not allocated by alloc", self_.rank)};
}

uint64_t ShmSegment::offset_of(const void *memory, size_t bytes) const {
    auto start = reinterpret_cast<uintptr_t>(memory), base = reinterpret_cast<uintptr_t>(base_);
    uintptr_t heaps = base + fixed_bytes(), end = base + bytes_;
    return start >= heaps && start < end && bytes <= end - start ? start - base : kPrivate;
}

}  // namespace ringrt

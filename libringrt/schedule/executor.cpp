// SPDX-License-Identifier: BSD-3-Clause
// A window of segments is in flight. All receives of a segment are posted when it enters the
// window, and it enters only when the segment kWindow before it is done. So the frame in front of
// any stream is for a segment the receiver can finish or has not reached because of an earlier one,
// whose frames all came before: nobody waits in a circle.
#include "libringrt/schedule/executor.h"

#include <algorithm>
#include <memory>

#include "libringrt/base/share.h"

namespace ringrt {
namespace {

constexpr size_t kWindow = 4;

// Of one block of one segment: few system calls, little in front of what becomes urgent, and what
// is under way to one rank, a block from each of the others, at most a megabyte. With more the
// queue in front of it overflows where all send at once, and TCP, which takes the loss for a lack
// of bandwidth, slows down. Two ranks have one connection, whose other direction waits for the
// reduction of a segment: shorter ones.
size_t segment_bytes(int blocks) {
    constexpr size_t kUnderWay = 1 << 20, kLeast = 16 << 10, kMost = 128 << 10, kOfTwo = 64 << 10;
    if (blocks == 2) return kOfTwo;
    return std::clamp(kUnderWay / kWindow / size_t(std::max(1, blocks - 1)), kLeast, kMost);
}

class Run {
  public:
    Run(const Schedule &schedule, const Work &work, size_t segments);

    // One place of the window: the state of one segment.
    struct Lane {
        bool active = false;
        size_t segment = 0, pc = 0;
        std::vector<Message> sends, receives;
        std::unique_ptr<std::byte[]> scratch;
    };
    Status enter(Lane *lane, size_t segment, Transport *transport);
    // As far as it goes without waiting.
    Status advance(Lane *lane, Transport *transport, bool *moved);
    [[nodiscard]] bool finished(const Lane &lane) const;
    [[nodiscard]] static bool all_left(const Lane &lane);  // all that was sent so far

  private:
    [[nodiscard]] Share block(size_t segment, int index) const;
    void resolve(const Lane &lane, const Ref &ref, std::vector<std::span<std::byte>> *out) const;
    // Of a scratch place; and the first byte of a block within Input or Output.
    [[nodiscard]] std::byte *scratch_at(const Lane &lane, const Ref &ref, int index) const;
    [[nodiscard]] size_t first_byte(const Lane &lane, Place place, int index) const;
    // use(data, bytes, passed) for each stretch of one block of one place.
    template <class Use>
    void each_stretch(const Lane &lane, const Ref &ref, int index, Use use) const;
    [[nodiscard]] std::byte *at(const Lane &lane, const Ref &ref, int index) const;
    void run_reduce(const Lane &lane, const ReduceStep &step) const;
    void run_copy(const Lane &lane, const CopyStep &copy) const;

    const Schedule &schedule_;
    const Work &work_;
    size_t segments_;
    size_t block_elements_;  // of the largest block of a segment
    size_t row_bytes_, partial_row_bytes_, scratch_bytes_;
};

Run::Run(const Schedule &schedule, const Work &work, size_t segments)
    : schedule_(schedule), work_(work), segments_(segments) {
    auto blocks = size_t(schedule.blocks);
    size_t share_elements = (work.count + blocks - 1) / blocks;
    block_elements_ = (share_elements + segments - 1) / segments;
    auto rounded = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
    row_bytes_ = rounded(block_elements_ * work.element_bytes) * blocks;
    partial_row_bytes_ = rounded(block_elements_ * partial_bytes(work.dtype)) * blocks;
    scratch_bytes_ =
        row_bytes_ * size_t(schedule.rows) + partial_row_bytes_ * size_t(schedule.partials);
}

Share Run::block(size_t segment, int index) const {
    Share whole = share(work_.count, schedule_.blocks, index);
    Share part = share(whole.count, int(segments_), int(segment));
    return {.first = whole.first + part.first, .count = part.count};
}

std::byte *Run::scratch_at(const Lane &lane, const Ref &ref, int index) const {
    auto blocks = size_t(schedule_.blocks);
    std::byte *rows = lane.scratch.get();
    if (ref.place == Place::Row) {
        return rows + row_bytes_ * ref.row + row_bytes_ / blocks * size_t(index);
    }
    std::byte *partials = rows + row_bytes_ * size_t(schedule_.rows);
    return partials + partial_row_bytes_ * ref.row + partial_row_bytes_ / blocks * size_t(index);
}

size_t Run::first_byte(const Lane &lane, Place place, int index) const {
    size_t first = block(lane.segment, index).first;
    bool in = place == Place::Input;
    if (index == (in ? work_.only_input_block : work_.only_output_block)) {
        first -= share(work_.count, schedule_.blocks, index).first;
    }
    return first * work_.element_bytes;
}

template <class Use>
void Run::each_stretch(const Lane &lane, const Ref &ref, int index, Use use) const {
    size_t each = ref.place == Place::Partial ? partial_bytes(work_.dtype) : work_.element_bytes;
    size_t bytes = block(lane.segment, index).count * each;
    if (ref.place == Place::Input) {
        each_input(work_, first_byte(lane, ref.place, index), bytes, use);
    } else if (ref.place == Place::Output) {
        each_output(work_, first_byte(lane, ref.place, index), bytes, use);
    } else if (bytes > 0) {
        use(scratch_at(lane, ref, index), bytes, 0);
    }
}

std::byte *Run::at(const Lane &lane, const Ref &ref, int index) const {
    if (ref.place == Place::Row || ref.place == Place::Partial) return scratch_at(lane, ref, index);
    bool in = ref.place == Place::Input;
    auto *base = static_cast<std::byte *>(in ? const_cast<void *>(work_.input) : work_.output);
    return base + first_byte(lane, ref.place, index);
}

void Run::resolve(const Lane &lane, const Ref &ref, std::vector<std::span<std::byte>> *out) const {
    for (int i = ref.first; i < ref.first + ref.count; ++i) {
        each_stretch(lane, ref, i, [&](std::byte *data, size_t bytes, size_t /*passed*/) {
            out->emplace_back(data, bytes);
        });
    }
}

void Run::run_reduce(const Lane &lane, const ReduceStep &step) const {
    for (int i = 0; i < step.out.count; ++i) {
        auto place = [&](const Ref &ref) { return at(lane, ref, ref.first + i); };
        size_t count = block(lane.segment, step.out.first + i).count;
        std::vector<const void *> sources;
        int mine = -1;
        for (const Ref &source : step.sources) {
            bool scattered = source.place == Place::Input && work_.inputs != nullptr;
            if (scattered) mine = int(sources.size());
            sources.push_back(scattered ? nullptr : place(source));
        }
        if (mine >= 0) {
            int index = step.sources[size_t(mine)].first + i;
            reduce_with_input(work_, mine, first_byte(lane, Place::Input, index), count,
                              std::move(sources), place(step.out));
            continue;
        }
        ringrt::reduce({.dtype = work_.dtype,
                        .op = work_.op,
                        .ranks = work_.ranks,
                        .partial = step.partial ? place(*step.partial) : nullptr,
                        .sources = sources,
                        .finish = step.out.place == Place::Output,
                        .out = place(step.out),
                        .count = count});
    }
}

void Run::run_copy(const Lane &lane, const CopyStep &step) const {
    for (int i = 0; i < step.to.count; ++i) {
        size_t from = first_byte(lane, Place::Input, step.from.first + i);
        each_stretch(lane, step.to, step.to.first + i,
                     [&](std::byte *to, size_t bytes, size_t passed) {
                         each_input(work_, from + passed, bytes,
                                    [&](const std::byte *data, size_t part, size_t done) {
                                        copy(to + done, data, part, StoreHint::Cached);
                                    });
                     });
    }
}

Status Run::enter(Lane *lane, size_t segment, Transport *transport) {
    if (lane->scratch == nullptr && scratch_bytes_ > 0) {
        lane->scratch.reset(new (std::nothrow) std::byte[scratch_bytes_]);
        if (lane->scratch == nullptr) {
            return {RINGRT_NO_MEMORY,
                    format_text("no memory for %zu bytes of scratch", scratch_bytes_)};
        }
    }
    lane->active = true, lane->segment = segment, lane->pc = 0;
    lane->sends.resize(schedule_.sends.size());
    lane->receives.resize(schedule_.receives.size());
    auto prepare = [&](const ScheduleMessage &from, Message *to) {
        to->peer = from.peer, to->slot = from.slot, to->segment = uint32_t(segment);
        to->done = true;
        to->pieces.clear();
        for (const Ref &ref : from.refs) resolve(*lane, ref, &to->pieces);
    };
    for (size_t i = 0; i < lane->sends.size(); ++i) prepare(schedule_.sends[i], &lane->sends[i]);
    for (size_t i = 0; i < lane->receives.size(); ++i) {
        prepare(schedule_.receives[i], &lane->receives[i]);
        RINGRT_TRY(transport->receive(&lane->receives[i]));
    }
    return {};
}

Status Run::advance(Lane *lane, Transport *transport, bool *moved) {
    for (; lane->pc < schedule_.steps.size(); ++lane->pc) {
        Step step = schedule_.steps[lane->pc];
        switch (step.kind) {
            case Step::Send:
                RINGRT_TRY(transport->send(&lane->sends[step.index]));
                break;
            case Step::Await:
                if (!lane->receives[step.index].done) return {};
                break;
            case Step::Flush:
                if (!all_left(*lane)) return {};
                break;
            case Step::Reduction:
                run_reduce(*lane, schedule_.reduces[step.index]);
                break;
            case Step::Copy:
                run_copy(*lane, schedule_.copies[step.index]);
                break;
        }
        *moved = true;
    }
    return {};
}

bool Run::all_left(const Lane &lane) {
    return std::all_of(lane.sends.begin(), lane.sends.end(),
                       [](const Message &each) { return each.done; });
}

bool Run::finished(const Lane &lane) const {
    return lane.pc == schedule_.steps.size() && all_left(lane);
}

Status run_all(Run &run, std::vector<Run::Lane> &lanes, size_t segments, const OpHeader &call,
               const RankContext &self, Transport *transport) {
    transport->begin(call);
    std::string phase = describe(call);
    Deadline deadline(self, phase.c_str());
    size_t next = 0, oldest = 0;
    while (oldest < segments) {
        bool moved = false;
        for (; next < segments && next < oldest + lanes.size(); ++next) {
            RINGRT_TRY(run.enter(&lanes[next % lanes.size()], next, transport));
        }
        for (size_t s = oldest; s < next; ++s) {
            RINGRT_TRY(run.advance(&lanes[s % lanes.size()], transport, &moved));
        }
        while (oldest < next && run.finished(lanes[oldest % lanes.size()])) ++oldest, moved = true;
        if (!moved) RINGRT_TRY(transport->progress(kSliceMs, &moved));
        if (!moved) {
            int silent = -1;
            RINGRT_TRY(transport->waiting(-1, &silent));
            RINGRT_TRY(deadline.check(silent));
        }
        if (moved) deadline.refresh();
    }
    return {};
}

}  // namespace

void reduce_with_input(const Work &work, int mine, size_t first, size_t count,
                       std::vector<const void *> sources, std::byte *out) {
    each_input(work, first, count * work.element_bytes,
               [&](const std::byte *data, size_t bytes, size_t passed) {
                   std::vector<const void *> shifted;
                   for (size_t r = 0; r < sources.size(); ++r) {
                       const auto *other = static_cast<const std::byte *>(sources[r]);
                       shifted.push_back(r == size_t(mine) ? data : other + passed);
                   }
                   reduce({.dtype = work.dtype,
                           .op = work.op,
                           .ranks = work.ranks,
                           .sources = shifted,
                           .out = out + passed,
                           .count = bytes / work.element_bytes});
               });
}

Status execute(const Schedule &schedule, const Work &work, const OpHeader &call,
               const RankContext &self, Transport *transport) {
    size_t block_bytes =
        (work.count + size_t(schedule.blocks) - 1) / size_t(schedule.blocks) * work.element_bytes;
    const size_t most = segment_bytes(schedule.blocks);
    size_t segments = std::max<size_t>(1, (block_bytes + most - 1) / most);
    Run run(schedule, work, segments);
    std::vector<Run::Lane> lanes(std::min(kWindow, segments));  // outlives the abort notice
    return concluded(self.rank, transport,
                     [&] { return run_all(run, lanes, segments, call, self, transport); });
}

}  // namespace ringrt

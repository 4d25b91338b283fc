// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/schedule/run.h"

#include <algorithm>

#include "libringrt/reduce/part.h"

namespace ringrt {
namespace {

size_t in_lines(size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

}  // namespace

Run::Run(const Schedule &schedule, const Work &work, size_t segments, SharedPlaces *node)
    : schedule_(schedule), work_(work), segments_(segments), node_(node) {
    auto blocks = size_t(schedule.blocks);
    size_t share_elements = (work.count + blocks - 1) / blocks;
    block_elements_ = (share_elements + segments - 1) / segments;
    row_bytes_ = in_lines(block_elements_ * work.element_bytes) * blocks;
    partial_row_bytes_ = in_lines(block_elements_ * partial_bytes(work.dtype)) * blocks;
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
    const size_t within = row_bytes_ / blocks * size_t(index);
    if (ref.place == Place::Stage) return node_->stage(ref.row, lane.segment) + within;
    if (ref.place == Place::Results) return node_->results(lane.segment) + within;
    std::byte *rows = lane.scratch.get();
    if (ref.place == Place::Row) return rows + row_bytes_ * ref.row + within;
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
    if (ref.place != Place::Input && ref.place != Place::Output)
        return scratch_at(lane, ref, index);
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
        Reduction sum{.dtype = work_.dtype,
                      .op = work_.op,
                      .ranks = work_.ranks,
                      .partial = step.partial ? place(*step.partial) : nullptr,
                      .sources = sources,
                      .finish = step.out.place != Place::Partial,
                      .out = place(step.out),
                      .count = count};
        if (mine >= 0) {
            const int index = step.sources[size_t(mine)].first + i;
            reduce_with_input(work_, mine, first_byte(lane, Place::Input, index), sum, step.of_all);
        } else if (step.of_all) {
            reduce_in_order(work_.order, sum, block(lane.segment, step.out.first + i).first,
                            work_.count);
        } else if (!step.sources.empty() && step.sources[0].place == Place::Partial) {
            reduce_partials(sum);
        } else {
            ringrt::reduce(sum);
        }
    }
}

void Run::run_copy(const Lane &lane, const CopyStep &step) const {
    std::vector<std::span<std::byte>> from, to;
    resolve(lane, step.from, &from);
    resolve(lane, step.to, &to);
    // Each is split where its own ranges end.
    size_t read = 0, written = 0;
    for (size_t f = 0, t = 0; f < from.size() && t < to.size();) {
        const size_t part = std::min(from[f].size() - read, to[t].size() - written);
        copy(to[t].data() + written, from[f].data() + read, part, StoreHint::Cached);
        read += part, written += part;
        if (read == from[f].size()) ++f, read = 0;
        if (written == to[t].size()) ++t, written = 0;
    }
}

bool Run::arrive(const Lane &lane, Gate gate) {
    if (arrived_[size_t(gate)] != lane.segment) return false;  // segments arrive in order
    node_->arrive(gate, lane.segment);
    ++arrived_[size_t(gate)];
    return true;
}

bool Run::may_enter(size_t segment) const {
    if (node_ == nullptr || segment < node_->segments_at_once()) return true;
    return node_->is_open(Gate::Shown, segment - node_->segments_at_once());
}

std::optional<Gate> Run::gate_before(const Lane &lane) const {
    if (lane.pc == schedule_.steps.size() || schedule_.steps[lane.pc].kind != Step::Pass) return {};
    return Gate(schedule_.steps[lane.pc].index);
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
            case Step::Arrive:
                if (!arrive(*lane, Gate(step.index))) return {};
                break;
            case Step::Pass:
                if (!node_->is_open(Gate(step.index), lane->segment)) return {};
                RINGRT_TRY(node_->pass(Gate(step.index), lane->segment));
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

void reduce_with_input(const Work &work, int mine, size_t first, const Reduction &sum,
                       bool in_order) {
    ReductionPart part(sum);
    std::vector<const void *> sources;
    each_input(
        work, first, sum.count * work.element_bytes,
        [&](const std::byte *data, size_t bytes, size_t passed) {
            Reduction piece = part.of(passed / work.element_bytes, bytes / work.element_bytes);
            sources.assign(piece.sources.begin(), piece.sources.end());
            sources[size_t(mine)] = data;
            piece.sources = sources;
            if (!in_order) return reduce(piece);
            reduce_in_order(work.order, piece, (first + passed) / work.element_bytes, work.count);
        });
}

}  // namespace ringrt

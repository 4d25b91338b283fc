// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/gpu_calls.h"

#include "libringrt/base/dtype.h"

namespace ringrt {

bool is_allreduce(const Layout &layout, size_t number) {
    const auto &transfers = layout.transfers;
    return number + 1 < transfers.size() && transfers[number].reduces &&
           !transfers[number + 1].reduces && transfers[number].atoms == transfers[number + 1].atoms;
}

std::vector<Gpu::Call> gpu_calls(const Layout &layout, size_t number,
                                 const std::vector<std::byte *> &gradients,
                                 const GradientSum &sum) {
    const Transfer &transfer = layout.transfers[number];
    const uint64_t element = dtype_bytes(sum.dtype), ranks = static_cast<uint64_t>(sum.ranks);
    const bool in_one =
        is_allreduce(layout, number) || (number > 0 && is_allreduce(layout, number - 1));
    std::vector<Gpu::Call> calls;
    const auto add = [&](Gpu::Call::Kind kind, std::byte *send, std::byte *recv, uint64_t count) {
        if (count > 0) calls.push_back({kind, send, recv, count, sum.dtype, sum.op});
    };
    for (const uint32_t atom : transfer.atoms) {
        const Atom &at = layout.atoms[atom];
        std::byte *const first = gradients[at.gradient] + at.offset;
        const uint64_t count = at.bytes / element;
        const bool whole = in_one || at.share_bytes < staged_below_bytes(sum.ranks, element);
        const uint64_t each = whole ? 0 : count / ranks;
        std::byte *const own = first + static_cast<uint64_t>(sum.rank) * each * element;
        if (!transfer.reduces) {
            add(Gpu::Call::AllGather, own, first, each);
            continue;
        }
        add(Gpu::Call::ReduceScatter, first, own, each);
        std::byte *const rest = first + ranks * each * element;
        add(Gpu::Call::Allreduce, rest, rest, count - ranks * each);
    }
    return calls;
}

}  // namespace ringrt

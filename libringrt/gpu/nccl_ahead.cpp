// SPDX-License-Identifier: BSD-3-Clause
// NCCL started before the first reduction, while the program does something else.
#include <algorithm>
#include <utility>

#include "libringrt/gpu/device_collectives.h"

namespace ringrt {

Status DeviceCollectives::start_ahead(int device) {
    std::unique_ptr<Gpu> gpu = device >= 0 && host_.another ? host_.another() : nullptr;
    RankGpu mine;
    if (gpu != nullptr && !host_.skips_ahead() && gpu->open(device).ok()) {
        mine = report(*gpu);
        mine.ahead = mine.has_nccl;
    }
    std::vector<RankGpu> gpus(size_t(self_.size), RankGpu{});
    RINGRT_TRY(host_.all_gather(&mine, gpus.data(), sizeof mine));
    if (std::ranges::any_of(gpus, [](const RankGpu &each) { return each.ahead == 0; })) return {};
    // What is impossible is for the first reduction to report.
    const bool can = choose(gpus).ok() && is_nccl(route_);
    const Route route = std::exchange(route_, Auto);
    if (!can) return {};
    ahead_ = {.gpu = std::move(gpu), .device = device, .route = route};
    RINGRT_TRY(start_nccl(*ahead_.gpu, route));
    // The ranks must not wait for one of them later.
    const uint8_t started = host_.skips_ahead() ? 0 : 1;
    std::vector<uint8_t> all(size_t(self_.size), 0);
    RINGRT_TRY(host_.all_gather(&started, all.data(), 1));
    if (std::ranges::count(all, 1) != self_.size) ahead_.gpu.reset();
    return {};
}

// Collective. Whether NCCL has started at all ranks, on the GPUs that they use. If not, all end it.
bool DeviceCollectives::take_ahead(const std::vector<RankGpu> &gpus) {
    const bool everywhere =
        route_ == ahead_.route &&
        std::ranges::all_of(gpus, [](const RankGpu &each) { return each.ahead != 0; });
    if (everywhere) gpu_->take_nccl(*ahead_.gpu);
    ahead_.gpu.reset();
    return everywhere;
}

}  // namespace ringrt

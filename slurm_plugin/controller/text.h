// SPDX-License-Identifier: BSD-3-Clause
// Numbers formatted for people.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

inline std::string gpus_text(int gpus) {
    return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
}

// "2.6 s"
inline std::string tenths_text(double seconds) {
    const long tenths = std::lround(std::clamp(seconds, 0.0, 1e9) * 10);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

// "12 s"
inline std::string seconds_text(double seconds) {
    return std::to_string(static_cast<long>(std::clamp(seconds, 0.0, 1e12))) + " s";
}

inline Event event_of(EventKind kind, const records::Intent &intent, int from, int to,
                      std::string text) {
    return {.kind = kind, .from = from, .to = to, .reason = intent.why, .text = std::move(text)};
}

inline std::string status_text(RpcStatus status) {
    switch (status) {
        case RpcStatus::ok:
            return "done";
        case RpcStatus::busy:
            return "it cannot be changed now";
        case RpcStatus::not_found:
            return "no such job";
        case RpcStatus::refused:
            return "Slurm refused it";
        case RpcStatus::later:
            return "not now";
        case RpcStatus::unreachable:
            return "slurmctld does not answer";
    }
    return "unknown";
}

}  // namespace ringrt::controller

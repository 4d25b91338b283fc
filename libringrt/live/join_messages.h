// SPDX-License-Identifier: BSD-3-Clause
// What an extension's rank and rank 0 of the base tell each other, after the handshake, on one
// connection that stays open until the rank has joined: its end tells each that the other is gone.
// Fixed sizes.
#pragma once

#include <cstdint>
#include <string>

#include "libringrt/base/wire_string.h"

namespace ringrt::live {

inline constexpr uint32_t kJoinVersion = 1;

struct JoinRequest {
    uint32_t version = kJoinVersion;
    uint32_t rank = 0, size = 0;  // within the extension
    uint32_t zero = 0;
    uint64_t job = 0;     // the extension's own
    uint64_t layout = 0;  // of what is registered, the batch and the seed: the base's is the same
};

struct JoinAnswer {
    uint32_t invited = 0;        // 0: refused, `line` says why
    uint32_t number = 0;         // of the join, unique in the base's run
    int32_t rank = 0, size = 0;  // in the communicator that is formed
    char line[240] = {};
};

// Where the ranks of the join meet.
inline std::string join_file(const std::string &folder, uint32_t number) {
    return folder + "/rendezvous-join-" + std::to_string(number);
}

// Where rank 0 of the base hears of extensions, as long as it runs.
inline std::string listener_file(const std::string &folder) {
    return folder + "/rendezvous-extensions";
}

}  // namespace ringrt::live

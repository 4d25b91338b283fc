// SPDX-License-Identifier: BSD-3-Clause
// Messages between an extension's rank and rank 0 of the base, after the handshake. The connection
// stays open until the rank has joined; if it closes, the peer is gone. Fixed sizes.
#pragma once

#include <cstdint>
#include <string>

#include "libringrt/base/wire_string.h"

namespace ringrt::live {

// Changes with these messages, with a vote (state_machine.h), and with how ranks form a level.
inline constexpr uint32_t kJoinVersion = 4;

struct JoinRequest {
    uint32_t version = kJoinVersion;
    uint32_t rank = 0, size = 0;  // within the extension
    uint32_t settings = 0;        // of the environment, in common (Resizer::settings())
    uint64_t job = 0;             // the extension's own job
    uint64_t layout = 0;  // hash of registered buffers, batch and seed: must equal the base's
};

struct JoinAnswer {
    uint32_t invited = 0;        // 0: refused, with the reason in `line`
    uint32_t number = 0;         // of the join, unique in the base's run
    int32_t rank = 0, size = 0;  // in the new communicator
    char line[240] = {};
};

// The rendezvous file of a join's ranks.
inline std::string join_file(const std::string &directory, uint32_t number) {
    return directory + "/rendezvous-join-" + std::to_string(number);
}

// Of the ranks that stay when nodes of the base leave.
inline std::string shrink_file(const std::string &directory, uint32_t number) {
    return directory + "/rendezvous-shrink-" + std::to_string(number);
}

// The file in which rank 0 of the base listens for extensions while it runs.
inline std::string listener_file(const std::string &directory) {
    return directory + "/rendezvous-extensions";
}

}  // namespace ringrt::live

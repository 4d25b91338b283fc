// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/group.h"

#include <algorithm>
#include <cstring>

namespace ringrt {

StatusMessage StatusMessage::of(const Status &outcome) {
    StatusMessage status_message{.code = outcome.code};
    size_t length = std::min(outcome.message.size(), sizeof status_message.message - 1);
    std::memcpy(status_message.message, outcome.message.data(), length);
    return status_message;
}

Status StatusMessage::outcome() const {
    return {static_cast<ringrt_status_t>(code),
            std::string(message, strnlen(message, sizeof message))};
}

Status agree(Group &group, const Status &mine) {
    std::vector<StatusMessage> all;
    if (Status gathered = gather(group, StatusMessage::of(mine), all); !gathered.ok())
        return gathered;
    for (const StatusMessage &status_message : all)
        if (status_message.code != RINGRT_OK) return status_message.outcome();
    return {};
}

Status broadcast_status(Group &group, const Status &of_rank_0) {
    StatusMessage status_message = StatusMessage::of(of_rank_0);
    if (Status sent = broadcast(group, status_message); !sent.ok()) return sent;
    return status_message.outcome();
}

}  // namespace ringrt

// SPDX-License-Identifier: BSD-3-Clause
// An operation in progress, whichever handle started it.
#pragma once

#include <unistd.h>

#include "libringrt/ringrt_comm.h"

struct ringrt_request {
    ringrt_request() = default;
    virtual ~ringrt_request() = default;
    ringrt_request(const ringrt_request &) = delete;
    ringrt_request &operator=(const ringrt_request &) = delete;
    virtual bool is_done() = 0;
    virtual ringrt_status_t wait() noexcept = 0;  // called once, also if the handle was aborted

    const pid_t pid = getpid();
};

// SPDX-License-Identifier: BSD-3-Clause
// Status: how something ended, and one line about it. An expected outcome is a value: what first
// knows the cause writes the line, callers only return it.
#pragma once

#include <string>

#include "libringrt/base/format.h"
#include "libringrt/ringrt.h"

namespace ringrt {

struct [[nodiscard]] Status {
    ringrt_status_t code = RINGRT_OK;
    std::string message;   // empty when ok; else what happened and what to do, without a newline
    int failed_rank = -1;  // the rank that failed, where it is known
    bool fatal = true;     // false: nothing was begun that ranks could disagree about

    [[nodiscard]] bool ok() const { return code == RINGRT_OK; }
};

}  // namespace ringrt

// Returns from the calling function where `expression` is not ok.
#define RINGRT_TRY(expression)                                        \
    do {                                                              \
        if (::ringrt::Status status_ = (expression); !status_.ok()) { \
            return status_;                                           \
        }                                                             \
    } while (0)

// SPDX-License-Identifier: BSD-3-Clause
// Status: the outcome of an operation, and one line about it. Expected outcomes are values: the
// code that detects the cause writes the line, callers only return it.
#pragma once

#include <string>

#include "libringrt/base/format.h"
#include "libringrt/ringrt.h"

namespace ringrt {

struct [[nodiscard]] Status {
    ringrt_status_t code = RINGRT_OK;
    std::string message;   // empty if ok; otherwise the cause and the remedy, without a newline
    int failed_rank = -1;  // the rank that failed, if known
    bool fatal = true;     // false: nothing was started that ranks could disagree about

    [[nodiscard]] bool ok() const { return code == RINGRT_OK; }
};

}  // namespace ringrt

// Returns from the calling function if `expression` is not ok.
#define RINGRT_TRY(expression)                                        \
    do {                                                              \
        if (::ringrt::Status status_ = (expression); !status_.ok()) { \
            return status_;                                           \
        }                                                             \
    } while (0)

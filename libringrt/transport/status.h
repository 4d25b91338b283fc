// SPDX-License-Identifier: BSD-3-Clause
// Status: how something ended, and one line about it. An expected outcome is a value: what first
// knows the cause writes the line, callers only return it.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

#include "libringrt/ringrt.h"

namespace ringrt {

struct [[nodiscard]] Status {
    ringrt_status_t code = RINGRT_OK;
    std::string line;   // empty when ok
    int culprit = -1;   // the rank it is about, when it is about one
    bool fatal = true;  // false: nothing was begun that ranks could disagree about

    [[nodiscard]] bool ok() const { return code == RINGRT_OK; }
};

__attribute__((format(printf, 1, 2))) inline std::string format_line(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

}  // namespace ringrt

// Returns from the calling function where `expression` is not ok.
#define RINGRT_TRY(expression)                                        \
    do {                                                              \
        if (::ringrt::Status status_ = (expression); !status_.ok()) { \
            return status_;                                           \
        }                                                             \
    } while (0)

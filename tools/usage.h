// SPDX-License-Identifier: BSD-3-Clause
// usage: how every tool ends when its command line is not one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>

namespace ringrt {

// Exit status: 0 after --help or --version, 2 after one line that says what is wrong.
[[nodiscard]] inline int end_of_usage(const CLI::App &app, const CLI::ParseError &error,
                                      const char *program) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "%s: %s (see %s --help)\n", program, error.what(), program);
    return 2;
}

}  // namespace ringrt

// SPDX-License-Identifier: BSD-3-Clause
// Common style of the tools' command lines, and common exit handling.
#pragma once

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

#include "build_config.h"

namespace ringrt {

// CLI11's help without the names of types and checks: "FLOAT:FLOAT in [0.1 - 86400]" becomes
// NUMBER.
class Help : public CLI::Formatter {
  public:
    std::string make_option_opts(const CLI::Option *option) const override {
        if (option->get_type_size() == 0) return "";
        const std::string value = value_name(option->get_type_name());
        std::string out = value.empty() ? "" : " " + value;
        const std::string usual = option->get_default_str();
        if (usual.starts_with('[')) return out + " " + usual;  // of several values
        return usual.empty() ? out : out + " [" + usual + "]";
    }

  private:
    static std::string value_name(const std::string &type) {
        const std::size_t colon = std::min(type.find(':'), type.size());
        const std::string name = type.substr(0, colon), check = type.substr(colon);
        if (check.starts_with(":{") && check.find("->") == check.npos) return check.substr(1);
        if (name == "UINT" || name == "INT" || name == "FLOAT") return "NUMBER";
        return name;
    }
};

// Call before adding subcommands: they inherit it.
inline void set_style(CLI::App &app, const char *program) {
    app.formatter(std::make_shared<Help>());
    app.set_version_flag("-V,--version", std::string(program) + " " PACKAGE_VERSION,
                         "show the version");
}

// The end of --help. `more`: further exit statuses of this tool.
[[nodiscard]] inline std::string exit_statuses(const std::string &more = "") {
    return "exit status: 0 success; 1 failure; 2 usage error" + (more.empty() ? more : "; " + more);
}

// Returns 1 instead of status 0 if standard output failed: a full disk, a closed pipe.
[[nodiscard]] inline int end_of_output(int status, const char *program) {
    std::cout.flush();
    const bool whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
    if (whole) return status;
    std::fprintf(stderr, "%s: cannot write to standard output: %s\n", program,
                 std::strerror(errno));
    return status == 0 ? 1 : status;
}

// Exit status: 0 after --help or --version, 2 after a one-line error.
[[nodiscard]] inline int end_of_usage(const CLI::App &app, const CLI::ParseError &error,
                                      const char *program) {
    if (error.get_exit_code() == 0) return end_of_output(app.exit(error), program);
    std::fprintf(stderr, "%s: %s (see %s --help)\n", program, error.what(), program);
    return 2;
}

}  // namespace ringrt

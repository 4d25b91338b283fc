// SPDX-License-Identifier: BSD-3-Clause
// OptionTable: the command line of a program that needs neither CLI11 nor libslurm. One table
// defines the options and the text of --help. getopt_long(3) parses the arguments.
#pragma once

#include <getopt.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "build_config.h"

namespace ringrt {

struct Option {
    const char *name;   // without "--"
    char letter;        // the short form; 0: none
    const char *value;  // the name of its value in --help; nullptr: it takes none
    std::string help;   // one or more lines of at most 58 columns
    // Receives the value, or "". Returns an error message, or "".
    std::function<std::string(const std::string &)> set;
};

struct OptionTable {
    const char *program;
    const char *about;  // text between the usage line and the options
    const char *below;  // text after the options
    std::vector<Option> options;
};

inline constexpr int kUsageStatus = 2;

// Writes the error on the command line to stderr. Returns kUsageStatus.
[[nodiscard]] inline int usage_error(const char *program, const std::string &what) {
    std::fprintf(stderr, "%s: %s (see %s --help)\n", program, what.c_str(), program);
    return kUsageStatus;
}

// "-q,--quiet", in CLI11's format: the shell completion reads both.
[[nodiscard]] inline std::string help_text(const OptionTable &table) {
    constexpr std::size_t kColumn = 22;
    std::string out =
        std::string("Usage: ") + table.program + " [OPTION...]\n" + table.about + "\n\n";
    for (const Option &option : table.options) {
        std::string line = option.letter != 0 ? std::string("  -") + option.letter + ",--" : "  --";
        line += option.name;
        if (option.value != nullptr) line += std::string(" ") + option.value;
        if (line.size() + 2 > kColumn) out += line + "\n", line.clear();
        for (const char c : option.help + "\n") {
            if (c != '\n' && line.size() < kColumn) line.resize(kColumn, ' ');
            line += c;
            if (c == '\n') out += line, line.clear();
        }
    }
    return out + "\n" + table.below + "\n";
}

// Parses the arguments; adds --version and --help. Returns an exit status if the program must end.
[[nodiscard]] inline std::optional<int> parse_options(int argc, char **argv, OptionTable table) {
    enum class Shows { nothing, version, help } shows = Shows::nothing;
    const auto show = [&shows](Shows what) {
        return [&shows, what](const std::string &) { return shows = what, std::string(); };
    };
    table.options.push_back({"version", 'V', nullptr, "show the version", show(Shows::version)});
    table.options.push_back({"help", 'h', nullptr, "show this help", show(Shows::help)});

    std::string letters = ":";
    std::vector<option> names;
    constexpr int kFirst = 256;  // above every letter
    for (std::size_t i = 0; i < table.options.size(); ++i) {
        const Option &one = table.options[i];
        const int takes = one.value != nullptr ? required_argument : no_argument;
        names.push_back({one.name, takes, nullptr, kFirst + static_cast<int>(i)});
        if (one.letter != 0) letters += one.letter;
    }
    names.push_back({});

    opterr = 0;
    for (int c = 0; (c = getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1;) {
        const std::string given = argv[optind - 1];
        if (c == ':') return usage_error(table.program, given + " needs a value");
        if (c == '?') return usage_error(table.program, "unknown option " + given);
        for (std::size_t i = 0; i < table.options.size(); ++i) {
            const Option &one = table.options[i];
            if (c != one.letter && c != kFirst + static_cast<int>(i)) continue;
            const std::string wrong = one.set(optarg != nullptr ? optarg : "");
            if (!wrong.empty())
                return usage_error(table.program, "--" + std::string(one.name) + ": " + wrong);
        }
        if (shows == Shows::nothing) continue;
        const std::string text = shows == Shows::help
                                     ? help_text(table)
                                     : std::string(table.program) + " " PACKAGE_VERSION "\n";
        std::fputs(text.c_str(), stdout);
        return std::fflush(stdout) == 0 ? 0 : 1;
    }
    if (optind < argc)
        return usage_error(table.program,
                           "unexpected argument \"" + std::string(argv[optind]) + "\"");
    return std::nullopt;
}

}  // namespace ringrt

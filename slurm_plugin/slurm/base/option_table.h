// SPDX-License-Identifier: BSD-3-Clause
// OptionTable: the command line of a program that may need neither CLI11 nor libslurm. One table is
// what the program takes and what its --help shows; getopt_long(3) reads the arguments.
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
    char letter;        // of its short form; 0: none
    const char *value;  // what --help calls its value; nullptr: it takes none
    std::string help;   // one line, or several; each at most 58 columns
    // Is given the value, or "". Returns what is wrong with it, or "".
    std::function<std::string(const std::string &)> set;
};

struct OptionTable {
    const char *program;
    const char *about;  // between the line of usage and the options
    const char *below;  // after them
    std::vector<Option> options;
};

inline constexpr int kUsageStatus = 2;

// Writes the line that says what is wrong with the command line; kUsageStatus.
[[nodiscard]] inline int usage_error(const char *program, const std::string &what) {
    std::fprintf(stderr, "%s: %s (see %s --help)\n", program, what.c_str(), program);
    return kUsageStatus;
}

// "-q,--quiet", as CLI11 writes it: the shell's completion reads both.
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

// Takes the arguments; adds --version and --help. An exit status where there is nothing more to do.
[[nodiscard]] inline std::optional<int> parse_options(int argc, char **argv, OptionTable table) {
    enum class Shows { nothing, version, help } shows = Shows::nothing;
    const auto show = [&shows](Shows what) {
        return [&shows, what](const std::string &) { return shows = what, std::string(); };
    };
    table.options.push_back({"version", 'V', nullptr, "the version", show(Shows::version)});
    table.options.push_back({"help", 'h', nullptr, "this text", show(Shows::help)});

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

// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringrt-check/plugstack.h"

#include <glob.h>

#include <algorithm>

#include "tools/ringrt-check/text_file.h"

namespace ringrt::check {
namespace {

constexpr std::size_t kLinesMax = 10000;

void read_into(const std::string &path, int depth, Plugstack &out);

void include(const std::string &pattern, const std::string &from, int depth, Plugstack &out) {
    const std::string whole =
        pattern.starts_with('/') ? pattern : directory_of(from) + "/" + pattern;
    glob_t found{};
    if (glob(whole.c_str(), 0, nullptr, &found) == 0)
        for (std::size_t at = 0; at < found.gl_pathc; ++at)
            read_into(found.gl_pathv[at], depth + 1, out);
    globfree(&found);
}

void take_line(const std::string &line, const std::string &path, std::size_t number, int depth,
               Plugstack &out) {
    const auto words = split(line.substr(0, line.find('#')), " \t\r");
    if (words.size() < 2 || out.lines.size() >= kLinesMax) return;
    if (words[0] == "include")
        include(words[1], path, depth, out);
    else
        out.lines.push_back({.where = path + ":" + std::to_string(number),
                             .keyword = lower(words[0]),
                             .plugin = words[1]});
}

void read_into(const std::string &path, int depth, Plugstack &out) {
    if (depth > kIncludeDepthMax) {
        out.error = path + ": include lines nest more than ten deep";
        return;
    }
    std::string error;
    const auto text = read_file(path, kTextBytesMax, error);
    if (!text) {
        out.error = path + ": cannot be read: " + error;
        return;
    }
    std::size_t number = 1;
    std::size_t begin = 0;
    while (begin < text->size()) {
        const std::size_t end = std::min(text->find('\n', begin), text->size());
        take_line(text->substr(begin, end - begin), path, number++, depth, out);
        begin = end + 1;
    }
}

}  // namespace

Plugstack read_plugstack(const std::string &path) {
    Plugstack out;
    read_into(path, 0, out);
    return out;
}

}  // namespace ringrt::check

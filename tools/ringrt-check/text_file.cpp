// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringrt-check/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

namespace ringrt::check {

std::optional<std::string> read_file(const std::string &path, std::size_t bytes_max,
                                     std::string &error) {
    // O_NONBLOCK: a pipe instead of a file must not block.
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) {
        error = std::strerror(errno);
        if (file >= 0) close(file);
        return std::nullopt;
    }
    std::string text;
    ssize_t got = 0;
    if (!S_ISREG(status.st_mode)) {
        error = "not a plain file";
    } else if (static_cast<std::size_t>(status.st_size) > bytes_max) {
        error = "longer than " + std::to_string(bytes_max) + " bytes";
    } else {
        text.resize(static_cast<std::size_t>(status.st_size));
        std::size_t length = 0;
        while (length < text.size() &&
               (got = read(file, text.data() + length, text.size() - length)) > 0)
            length += static_cast<std::size_t>(got);
        if (got < 0) error = std::strerror(errno);
        text.resize(length);
    }
    close(file);
    if (!error.empty()) return std::nullopt;
    return text;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        if (end > 0) out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string shown(std::string_view text) {
    std::string out(text.substr(0, 200));
    std::ranges::replace_if(
        out, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return out;
}

}  // namespace ringrt::check

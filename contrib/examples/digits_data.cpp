// SPDX-License-Identifier: BSD-3-Clause
#include "digits_data.h"

#include <ringrt.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace digits {
namespace {

constexpr int kPixelMax = 16;

[[noreturn]] void refuse(const std::string &path, std::size_t line, const std::string &why) {
    throw std::runtime_error(path + ":" + std::to_string(line) + ": " + why);
}

// The next integer of a comma-separated line; false if there is none. Python's "1.0" is allowed.
bool next_value(const char *&at, const char *end, int &value) {
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) return false;
    at = stop;
    if (end - at >= 2 && at[0] == '.' && at[1] == '0') at += 2;
    if (end - at >= 2 && *at == ',') ++at;
    return true;
}

void append_line(Dataset &data, const std::string &text, const std::string &path,
                 std::size_t line) {
    const char *at = text.data();
    const char *end = at + text.size();
    int value = 0;
    for (std::size_t i = 0; i < kPixels; ++i) {
        if (!next_value(at, end, value) || value < 0 || value > kPixelMax)
            refuse(path, line, "expected 64 pixels of 0..16 and a label");
        data.pixels.push_back(static_cast<float>(value) / kPixelMax);
    }
    if (!next_value(at, end, value) || value < 0 || value >= static_cast<int>(kClasses) ||
        at != end)
        refuse(path, line, "expected a label 0..9 at the end");
    data.labels.push_back(static_cast<uint8_t>(value));
}

void append_image(Dataset &to, const Dataset &from, std::size_t i) {
    const auto image = from.image(i);
    to.pixels.insert(to.pixels.end(), image.begin(), image.end());
    to.labels.push_back(from.labels[i]);
}

}  // namespace

Dataset load_csv(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
    if (file.peek() == 0x1f) throw std::runtime_error(path + " is compressed: gunzip it first");
    Dataset data;
    std::string text;
    for (std::size_t line = 1; std::getline(file, text); ++line) {
        if (!text.empty() && text.back() == '\r') text.pop_back();
        if (!text.empty()) append_line(data, text, path, line);
    }
    if (data.size() == 0) throw std::runtime_error(path + " holds no images");
    return data;
}

Split split(const Dataset &all, std::size_t train_images) {
    if (train_images == 0 || train_images >= all.size())
        throw std::runtime_error("the data set is too small: it holds " +
                                 std::to_string(all.size()) + " images, training takes " +
                                 std::to_string(train_images));
    Split parts;
    for (std::size_t i = 0; i < all.size(); ++i)
        append_image(i < train_images ? parts.train : parts.test, all,
                     ringrt_sample(1998, 0, all.size(), i));
    return parts;
}

}  // namespace digits

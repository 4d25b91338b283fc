// SPDX-License-Identifier: BSD-3-Clause
// The UCI "Optical Recognition of Handwritten Digits" images (E. Alpaydin, C. Kaynak, 1998; CC
// BY 4.0): 1797 images of 8×8 pixels, as scikit-learn (BSD-3-Clause) ships them in digits.csv.gz.
// contrib/examples/get-digits fetches the file from Debian's python3-sklearn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace digits {

inline constexpr std::size_t kPixels = 64;  // 8×8, row by row
inline constexpr std::size_t kClasses = 10;

struct Dataset {
    std::vector<float> pixels;    // size()·kPixels, each 0..1
    std::vector<uint8_t> labels;  // each 0..9

    [[nodiscard]] std::size_t size() const { return labels.size(); }
    [[nodiscard]] std::span<const float> image(std::size_t i) const {
        return std::span(pixels).subspan(i * kPixels, kPixels);
    }
};

struct Split {
    Dataset train, test;
};

// Lines of 65 integers: 64 pixels of 0..16 and the label. Throws std::runtime_error with
// "PATH:LINE: reason" on anything else, or if the file holds no image.
[[nodiscard]] Dataset load_csv(const std::string &path);

// The first `train_images` of a fixed shuffle for training, the rest for the test: the same in
// every run, so that accuracies are comparable. Throws if either part would be empty.
[[nodiscard]] Split split(const Dataset &all, std::size_t train_images);

}  // namespace digits

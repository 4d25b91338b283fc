// SPDX-License-Identifier: BSD-3-Clause
// The words of one line of a manifest. PURE.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ringrt::checkpoint {

// Every method returns false for a malformed, missing or out-of-range word.
class Words {
  public:
    explicit Words(std::string_view line) : rest_(line) {}

    bool take(std::string_view &word) {
        if (rest_.empty() || rest_.front() == ' ') return false;
        size_t end = std::min(rest_.find(' '), rest_.size());
        word = rest_.substr(0, end);
        const bool more = end < rest_.size();
        rest_.remove_prefix(more ? end + 1 : end);
        return !more || !rest_.empty();  // no trailing blank
    }
    bool key(std::string_view expected) {
        std::string_view word;
        return take(word) && word == expected;
    }
    template <typename Number>
    bool number(Number &out, Number max) {
        std::string_view word;
        if (!take(word) || (word.size() > 1 && word.front() == '0')) return false;
        auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
        return error == std::errc() && end == word.data() + word.size() && out >= 0 && out <= max;
    }
    bool milliseconds(double &out) {
        std::string_view word;
        if (!take(word) || word.size() > 32) return false;
        auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
        return error == std::errc() && end == word.data() + word.size() && std::isfinite(out) &&
               out >= 0 && out <= 1e12;
    }
    bool hash(uint64_t &out) {
        std::string_view word;
        if (!take(word) || word.size() != 16) return false;
        auto [end, error] = std::from_chars(word.data(), word.data() + 16, out, 16);
        return error == std::errc() && end == word.data() + 16 &&
               word.find_first_of("ABCDEF") == word.npos;
    }
    std::string_view take_rest() { return std::exchange(rest_, {}); }
    bool at_end() const { return rest_.empty(); }

  private:
    std::string_view rest_;
};

}  // namespace ringrt::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "libringrt/bucketing/profile.h"

namespace ringrt::bucketing {
namespace {

constexpr size_t kMaxTextBytes = size_t{64} << 20;
constexpr size_t kMaxNameBytes = 1000;

enum Column : size_t { idx, name, grad_bytes, fwd_us, bwd_us, ready_us, column_count };
constexpr std::array<std::string_view, column_count> kColumns = {"idx",    "name",   "grad_bytes",
                                                                 "fwd_us", "bwd_us", "ready_us"};
constexpr size_t kAbsent = SIZE_MAX;

std::string shown(std::string_view field) {
    std::string out(field.substr(0, 40));
    for (char &c : out) {
        if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
    }
    return '"' + out + (field.size() > 40 ? "…\"" : "\"");
}

struct Row {
    size_t line = 0;
    uint64_t idx = 0;
    Gradient gradient{};
    double backward_us = 0;
};

class Reader {
  public:
    Reader(std::string_view text, std::string &error) : rest_(text), error_(error) {}

    std::optional<Profile> read() {
        if (rest_.size() > kMaxTextBytes) return fail("the file is larger than 64 MiB");
        if (!read_header()) return std::nullopt;
        while (next_line()) {
            if (!line_.empty() && !read_row()) return std::nullopt;
        }
        if (rows_.empty()) return fail("there are no gradients below the header");
        if (!in_order()) return std::nullopt;
        return finished();
    }

  private:
    std::nullopt_t fail(const std::string &what) {
        error_ = (number_ > 0 ? "line " + std::to_string(number_) + ": " : "") + what;
        return std::nullopt;
    }

    bool next_line() {
        if (rest_.empty()) return false;
        const size_t end = rest_.find('\n');
        line_ = rest_.substr(0, end);
        rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
        if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
        ++number_;
        return true;
    }

    // Splits at commas; a field in double quotes may contain commas. False: a quote is not closed.
    bool split() {
        fields_.clear();
        std::string_view left = line_;
        for (bool more = true; more;) {
            const bool quoted = left.starts_with('"');
            if (quoted) left.remove_prefix(1);
            const size_t close = quoted ? left.find('"') : 0;
            if (close == std::string_view::npos) return false;
            const size_t comma = left.find(',', close);
            const size_t end = quoted ? close : std::min(comma, left.size());
            fields_.push_back(left.substr(0, end));
            more = comma != std::string_view::npos;
            if (more) left.remove_prefix(comma + 1);
        }
        return true;
    }

    bool read_header() {
        if (!next_line() || !split()) {
            fail("expected a header such as idx,name,grad_bytes,fwd_us,bwd_us,ready_us");
            return false;
        }
        at_.fill(kAbsent);
        for (size_t i = 0; i < fields_.size(); ++i) {
            const auto *found = std::ranges::find(kColumns, fields_[i]);
            if (found == kColumns.end()) continue;
            size_t &at = at_[static_cast<size_t>(found - kColumns.begin())];
            if (at != kAbsent) return fail("column " + std::string(*found) + " twice"), false;
            at = i;
        }
        width_ = fields_.size();
        for (Column needed : {grad_bytes, fwd_us}) {
            if (at_[needed] == kAbsent) {
                return fail("no column " + std::string(kColumns[needed]) + " in the header"), false;
            }
        }
        if (at_[ready_us] == kAbsent && at_[bwd_us] == kAbsent) {
            return fail("neither ready_us nor bwd_us in the header"), false;
        }
        return true;
    }

    bool read_row() {
        if (rows_.size() == kMaxGradients) {
            return fail("more than " + std::to_string(kMaxGradients) + " gradients"), false;
        }
        if (!split()) return fail("a quote is not closed"), false;
        if (fields_.size() != width_) {
            return fail("got " + std::to_string(fields_.size()) + " fields, the header has " +
                        std::to_string(width_)),
                   false;
        }
        Row row{.line = number_, .idx = rows_.size()};
        if (at_[name] != kAbsent) row.gradient.name = fields_[at_[name]].substr(0, kMaxNameBytes);
        if (!whole(idx, kMaxGradients - 1, row.idx)) return false;
        if (!whole(grad_bytes, kMaxGradientBytes, row.gradient.bytes)) return false;
        if (!time(fwd_us, row.gradient.forward_us)) return false;
        if (!time(bwd_us, row.backward_us) || !time(ready_us, row.gradient.ready_us)) return false;
        rows_.push_back(std::move(row));
        return true;
    }

    bool whole(Column column, uint64_t most, uint64_t &out) {
        if (at_[column] == kAbsent) return true;
        const std::string_view field = fields_[at_[column]];
        const auto [end, fault] = std::from_chars(field.data(), field.data() + field.size(), out);
        if (fault == std::errc{} && end == field.data() + field.size() && out <= most) return true;
        fail(std::string(kColumns[column]) + ": got " + shown(field) +
             ", expected a whole number up to " + std::to_string(most));
        return false;
    }

    bool time(Column column, double &out) {
        if (at_[column] == kAbsent) return true;
        const std::string_view field = fields_[at_[column]];
        const auto [end, fault] = std::from_chars(field.data(), field.data() + field.size(), out);
        const bool number = fault == std::errc{} && end == field.data() + field.size();
        if (number && std::isfinite(out) && out >= 0 && out <= kMaxTimeUs) return true;
        fail(std::string(kColumns[column]) + ": got " + shown(field) +
             ", expected microseconds from 0 to 1e12");
        return false;
    }

    bool in_order() {
        std::ranges::stable_sort(rows_, {}, &Row::idx);
        for (size_t i = 0; i < rows_.size(); ++i) {
            if (rows_[i].idx == i) continue;
            number_ = rows_[i].line;
            const bool twice = i > 0 && rows_[i].idx == rows_[i - 1].idx;
            fail("idx " + std::to_string(rows_[i].idx) +
                 (twice ? " twice" : ": idx " + std::to_string(i) + " is missing"));
            return false;
        }
        return true;
    }

    Profile finished() {
        Profile profile;
        if (at_[ready_us] == kAbsent) {
            double now = 0;
            for (size_t i = rows_.size(); i-- > 0;) {
                rows_[i].gradient.ready_us = now += rows_[i].backward_us;
            }
        }
        double longest = 0;
        for (size_t i = 1; i < rows_.size(); ++i) {
            longest = std::max(longest, rows_[i].gradient.forward_us);
        }
        Row &first = rows_.front();
        const bool input = first.gradient.bytes == 0 && at_[bwd_us] != kAbsent &&
                           first.backward_us == 0 && rows_.size() > 1;
        if (input) first.gradient.forward_us = std::min(first.gradient.forward_us, longest);
        for (Row &row : rows_) profile.gradients.push_back(std::move(row.gradient));
        return profile;
    }

    std::string_view rest_, line_;
    std::string &error_;
    size_t number_ = 0, width_ = 0;
    std::vector<std::string_view> fields_;
    std::array<size_t, column_count> at_{};
    std::vector<Row> rows_;
};

std::string number(double value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

}  // namespace

std::optional<Profile> parse_profile(std::string_view text, std::string &error) {
    return Reader(text, error).read();
}

std::string format_profile(const Profile &profile) {
    std::string out = "idx,name,grad_bytes,fwd_us,ready_us\n";
    for (size_t i = 0; i < profile.gradients.size(); ++i) {
        const Gradient &gradient = profile.gradients[i];
        std::string plain = gradient.name;
        std::ranges::replace_if(
            plain, [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; }, ';');
        out += std::to_string(i) + ',' + plain + ',' + std::to_string(gradient.bytes) + ',' +
               number(gradient.forward_us) + ',' + number(gradient.ready_us) + '\n';
    }
    return out;
}

}  // namespace ringrt::bucketing

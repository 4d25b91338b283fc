// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/records/fields.h"

#include <charconv>
#include <cmath>

#include "slurm_plugin/records/intent.h"

namespace ringrt::records {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool is_key(std::string_view key) {
    if (key.empty()) return false;
    for (const char c : key)
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
    return true;
}

// Length of the `key=value` at the start of `text`; 0 if there is none.
std::size_t field_length(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size() && text[length] > ' ' && text[length] < 0x7f) ++length;
    const std::string_view word = text.substr(0, length);
    const std::size_t equals = word.find('=');
    return equals != std::string_view::npos && is_key(word.substr(0, equals)) ? length : 0;
}

std::size_t find_marker(std::string_view text, std::string_view marker) {
    for (std::size_t at = text.rfind(marker); at != std::string_view::npos;
         at = at == 0 ? std::string_view::npos : text.rfind(marker, at - 1)) {
        const std::size_t end = at + marker.size();
        if ((at == 0 || is_space(text[at - 1])) && (end == text.size() || is_space(text[end])))
            return at;
    }
    return std::string_view::npos;
}

}  // namespace

std::optional<Span> find_record(std::string_view text, std::string_view marker) {
    const std::size_t begin = find_marker(text, marker);
    if (begin == std::string_view::npos) return std::nullopt;
    std::size_t end = begin + marker.size();
    while (end < text.size() && text[end] == ' ') {
        const std::size_t length = field_length(text.substr(end + 1));
        if (length == 0) break;
        end += 1 + length;
    }
    return Span{.begin = begin, .end = end};
}

std::string replace_record(std::string_view text, std::string_view marker,
                           std::string_view record) {
    const std::optional<Span> old = find_record(text, marker);
    std::string out(text.substr(0, old ? old->begin : text.size()));
    if (!out.empty() && !is_space(out.back())) out += ' ';
    out += record;
    if (old) out += text.substr(old->end);
    return out;
}

std::optional<Field> next_field(std::string_view &rest) {
    if (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
    const std::size_t length = field_length(rest);
    if (length == 0) return std::nullopt;
    const std::string_view word = rest.substr(0, length);
    rest.remove_prefix(length);
    const std::size_t equals = word.find('=');
    return Field{.key = word.substr(0, equals), .value = word.substr(equals + 1)};
}

bool read_int(std::string_view text, int64_t low, int64_t high, int64_t &out) {
    int64_t value = 0;
    const char *end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (text.empty() || result.ec != std::errc{} || result.ptr != end) return false;
    if (value < low || value > high) return false;
    out = value;
    return true;
}

bool read_number(std::string_view text, double low, double high, double &out) {
    double value = 0;
    const char *end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (text.empty() || result.ec != std::errc{} || result.ptr != end) return false;
    if (!std::isfinite(value) || value < low || value > high) return false;
    out = value;
    return true;
}

bool append_text(std::string &record, std::string_view key, std::string_view value) {
    if (record.size() + key.size() + value.size() + 2 > kRecordBytesMax) return false;
    record.append(" ").append(key).append("=").append(value);
    return true;
}

bool append_int(std::string &record, std::string_view key, int64_t value) {
    char digits[24];
    const auto result = std::to_chars(digits, digits + sizeof digits, value);
    return append_text(record, key, {digits, static_cast<std::size_t>(result.ptr - digits)});
}

bool append_number(std::string &record, std::string_view key, double value) {
    return append_text(record, key, number_text(value));
}

bool append_time(std::string &record, std::string_view key, double seconds) {
    char digits[32];
    const auto result = std::to_chars(digits, digits + sizeof digits, std::floor(seconds * 10) / 10,
                                      std::chars_format::fixed, 1);
    if (result.ec != std::errc{}) return false;
    return append_text(record, key, {digits, static_cast<std::size_t>(result.ptr - digits)});
}

std::string number_text(double value) {
    char digits[32];
    const auto result =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6);
    return result.ec == std::errc{} ? std::string(digits, result.ptr) : std::string("0");
}

}  // namespace ringrt::records

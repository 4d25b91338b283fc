// SPDX-License-Identifier: BSD-3-Clause
// The shape that intent and telemetry share: a marker such as `malleable/1`, then `key=value` words
// separated by one space. Site or user text may stand before the marker and after the last word
// that is no `key=value`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::records {

// Where the last record of a kind stands in a text: [begin, end), marker included.
struct Span {
    std::size_t begin = 0, end = 0;
};

[[nodiscard]] std::optional<Span> find_record(std::string_view text, std::string_view marker);

// `text` with its record replaced, or with the record appended.
[[nodiscard]] std::string replace_record(std::string_view text, std::string_view marker,
                                         std::string_view record);

struct Field {
    std::string_view key, value;
};

// Takes the first `key=value` off `rest` (one leading space is skipped); nullopt at its end.
[[nodiscard]] std::optional<Field> next_field(std::string_view &rest);

// Whole numbers and decimals within [low, high]; false, and `out` unchanged, on anything else.
[[nodiscard]] bool read_int(std::string_view text, int64_t low, int64_t high, int64_t &out);
[[nodiscard]] bool read_number(std::string_view text, double low, double high, double &out);

// Appends " key=value" where the record stays within kRecordBytesMax; false where it would not.
bool append_int(std::string &record, std::string_view key, int64_t value);
bool append_number(std::string &record, std::string_view key, double value);  // 6 digits
bool append_time(std::string &record, std::string_view key, double seconds);  // Unix time, 0.1 s
bool append_text(std::string &record, std::string_view key, std::string_view value);

[[nodiscard]] std::string number_text(double value);  // at most 6 significant digits

}  // namespace ringrt::records

// SPDX-License-Identifier: BSD-3-Clause
// The common format of the records: a marker such as `malleable/1`, then `key=value` words
// separated by one space. Site or user text may precede the marker, and may follow from the first
// word that is not `key=value`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ringrt::records {

inline constexpr int64_t kTimeMax = 99'999'999'999;  // Unix time, year 5138
inline constexpr int64_t kStepMax = 999'999'999'999'999;

// Position of the last record of a kind in a text: [begin, end), marker included.
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

// Takes the first `key=value` off `rest`, after at most one leading space; nullopt at its end.
[[nodiscard]] std::optional<Field> next_field(std::string_view &rest);

// How to read one key of a record; false: the value is invalid.
template <typename Record>
struct RecordKey {
    std::string_view name;
    bool (*read)(std::string_view value, Record &record);
};

inline constexpr std::size_t kRecordKeysMax = 64;

// The last record of a kind in `text`. Unknown keys are skipped, because a newer version may have
// written them; the first three of `keys` are required. nullopt if there is none, if it is longer
// than `bytes_max`, or if a key is repeated or has an invalid value.
template <typename Record>
[[nodiscard]] std::optional<Record> read_record(std::string_view text, std::string_view marker,
                                                std::size_t bytes_max,
                                                std::span<const RecordKey<Record>> keys) {
    const std::optional<Span> span = find_record(text, marker);
    if (!span || span->end - span->begin > bytes_max) return std::nullopt;
    std::string_view rest = text.substr(span->begin, span->end - span->begin);
    rest.remove_prefix(marker.size());
    Record record;
    uint64_t seen = 0;  // one bit per key
    while (const std::optional<Field> field = next_field(rest)) {
        const auto key = std::find_if(keys.begin(), keys.end(), [&](const RecordKey<Record> &k) {
            return k.name == field->key;
        });
        if (key == keys.end()) continue;
        const uint64_t bit = uint64_t{1} << (key - keys.begin());
        if ((seen & bit) != 0 || !key->read(field->value, record)) return std::nullopt;
        seen |= bit;
    }
    constexpr uint64_t kRequired = 0b111;
    return (seen & kRequired) == kRequired ? std::optional(record) : std::nullopt;
}

// Read a whole number or a decimal in [low, high]; otherwise false, and `out` is unchanged.
[[nodiscard]] bool read_int(std::string_view text, int64_t low, int64_t high, int64_t &out);
[[nodiscard]] bool read_number(std::string_view text, double low, double high, double &out);

template <typename Integer>
[[nodiscard]] bool read_into(std::string_view text, int64_t low, int64_t high, Integer &out) {
    int64_t value = 0;
    if (!read_int(text, low, high, value)) return false;
    out = static_cast<Integer>(value);
    return true;
}

// Append " key=value" if the record stays within kRecordBytesMax; false if it would not.
bool append_int(std::string &record, std::string_view key, int64_t value);
bool append_number(std::string &record, std::string_view key, double value);  // 6 digits
bool append_time(std::string &record, std::string_view key, double seconds);  // Unix time, 0.1 s
bool append_text(std::string &record, std::string_view key, std::string_view value);

[[nodiscard]] std::string number_text(double value);  // at most 6 significant digits

}  // namespace ringrt::records

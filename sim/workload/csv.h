// SPDX-License-Identifier: BSD-3-Clause
// Reads delimited text within bounds. Every error names the line.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::sim {

// One line for the user, "FILE:LINE: what is wrong"; the program exits with status 2.
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline constexpr std::size_t kInputBytesMax = std::size_t{256} << 20;
inline constexpr std::size_t kLineBytesMax = 65536;
inline constexpr std::size_t kRowsMax = 5'000'000;

// A file's content. The path is for messages.
struct TextFile {
    std::string path;
    std::string text;
};

// The whole file; an error if it is larger than kInputBytesMax or contains a NUL.
[[nodiscard]] TextFile read_file(const std::string &path);
// All *.csv files of a directory, by name.
[[nodiscard]] std::vector<TextFile> read_tables(const std::string &directory);
// "DIR/placements.csv": "placements".
[[nodiscard]] std::string_view stem(std::string_view path);

// A table with named columns. Views point into its text, so it must outlive them.
class Table {
  public:
    // `separator` is ',' or '|'. The first line names the columns.
    Table(TextFile file, char separator);

    [[nodiscard]] const std::string &path() const { return file_.path; }
    [[nodiscard]] std::size_t rows() const { return rows_.size(); }
    // Index of a column. find(): nullopt if it is absent; column(): InputError with its name.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view column) const;
    [[nodiscard]] std::size_t column(std::string_view column) const;
    [[nodiscard]] const std::vector<std::string_view> &header() const { return header_; }

    [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const;
    // A finite number in low..high, otherwise an InputError with file, line and column.
    [[nodiscard]] double number(std::size_t row, std::size_t column, double low, double high) const;
    [[nodiscard]] int integer(std::size_t row, std::size_t column, int low, int high) const;
    // The same for a column that may be absent or empty: then `otherwise`.
    [[nodiscard]] double number_or(std::size_t row, std::string_view column, double low,
                                   double high, double otherwise) const;
    [[noreturn]] void fail(std::size_t row, const std::string &what) const;

  private:
    struct Row {
        uint32_t line;
        uint32_t first;  // into cells_
    };
    TextFile file_;
    std::vector<std::string_view> header_;
    std::vector<std::string_view> cells_;
    std::vector<Row> rows_;
};

// A finite decimal number and nothing else.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

// Untrusted text made safe to print: control and non-ASCII bytes become '?', at most 64 bytes.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ringrt::sim

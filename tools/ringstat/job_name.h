// SPDX-License-Identifier: BSD-3-Clause
// Jobs as squeue names them. Tasks of an array have numbers of their own, but nobody knows those:
// "100_3" is task 3 of array 100, "100_[4-9%2]" are all that have no record of their own yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ringrt::ringstat {

// task: "100_3" or "100_[4-9]"; empty: the job belongs to no array.
[[nodiscard]] std::string shown_name(uint32_t job, const std::string &task);

// For the order of a list: tasks of an array stand together, by their numbers.
[[nodiscard]] std::pair<uint32_t, uint32_t> order_of(uint32_t job, std::string_view task);

// Cells of a table; a longer name is not cut.
[[nodiscard]] std::string name_cell(const std::string &name, std::size_t width);

// From the command line: "1234", or all of the array of that number; "100_3".
struct WantedJob {
    uint32_t number = 0;
    std::optional<uint32_t> task;

    bool operator==(const WantedJob &) const = default;
    [[nodiscard]] bool is(uint32_t job, std::string_view task_name) const;
    [[nodiscard]] std::string text() const;  // as it was given
};

[[nodiscard]] std::optional<WantedJob> parse_wanted(std::string_view text);
[[nodiscard]] bool is_wanted(std::span<const WantedJob> wanted, uint32_t job,
                             std::string_view task_name);

}  // namespace ringrt::ringstat

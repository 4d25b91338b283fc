// SPDX-License-Identifier: BSD-3-Clause
// Jobs by squeue's names. Users do not know the numbers of array tasks: "100_3" is task 3 of array
// 100, and "100_[4-9%2]" are all tasks that have no record yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ringrt::ringstat {

// task: "100_3" or "100_[4-9]"; empty: the job is in no array.
[[nodiscard]] std::string shown_name(uint32_t job, const std::string &task);

// Sort key for lists: keeps the tasks of an array together, by their numbers.
[[nodiscard]] std::pair<uint32_t, uint32_t> order_of(uint32_t job, std::string_view task);

// A table cell; a longer name is not cut.
[[nodiscard]] std::string name_cell(const std::string &name, std::size_t width);

// From the command line: "1234", a job or the whole array of that number; or "100_3".
struct WantedJob {
    uint32_t number = 0;
    std::optional<uint32_t> task;

    bool operator==(const WantedJob &) const = default;
    [[nodiscard]] bool is(uint32_t job, std::string_view task_name) const;
    [[nodiscard]] std::string text() const;  // as given
};

[[nodiscard]] std::optional<WantedJob> parse_wanted(std::string_view text);
[[nodiscard]] bool is_wanted(std::span<const WantedJob> wanted, uint32_t job,
                             std::string_view task_name);

}  // namespace ringrt::ringstat

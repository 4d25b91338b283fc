// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/job_name.h"

#include <algorithm>
#include <charconv>

#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

// Removes a number from the front.
std::optional<uint32_t> take_number(std::string_view &text) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

bool take(std::string_view &text, char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
}

// Whether "3", or the list in "[0-4,7,10-20:5%2]", contains the task. If Slurm has truncated the
// list, it ends in "...".
bool has_task(std::string_view text, uint32_t task) {
    take(text, '[');
    while (const auto first = take_number(text)) {
        const auto last = take(text, '-') ? take_number(text) : first;
        const auto step = take(text, ':') ? take_number(text) : std::optional<uint32_t>(1);
        if (!last || !step || *step == 0) return false;
        if (task >= *first && task <= *last && (task - *first) % *step == 0) return true;
        if (!take(text, ',')) return false;
    }
    return false;
}

}  // namespace

std::string shown_name(uint32_t job, const std::string &task) {
    return task.empty() ? std::to_string(job) : task;
}

std::pair<uint32_t, uint32_t> order_of(uint32_t job, std::string_view task) {
    const auto array = take_number(task);
    if (!array || !take(task, '_')) return {job, 0};
    take(task, '[');
    return {*array, take_number(task).value_or(0)};
}

std::string name_cell(const std::string &name, std::size_t width) {
    return fit(name, std::max(width, name.size()), true);
}

bool WantedJob::is(uint32_t job, std::string_view task_name) const {
    if (!task && job == number) return true;
    const auto array = take_number(task_name);
    if (!array || *array != number) return false;
    return !task || (take(task_name, '_') && has_task(task_name, *task));
}

std::string WantedJob::text() const {
    return std::to_string(number) + (task ? "_" + std::to_string(*task) : "");
}

std::optional<WantedJob> parse_wanted(std::string_view text) {
    const auto number = take_number(text);
    if (!number || *number == 0) return std::nullopt;
    WantedJob wanted{.number = *number};
    if (take(text, '_')) {
        wanted.task = take_number(text);
        if (!wanted.task) return std::nullopt;
    }
    return text.empty() ? std::optional(wanted) : std::nullopt;
}

bool is_wanted(std::span<const WantedJob> wanted, uint32_t job, std::string_view task_name) {
    return std::ranges::any_of(wanted,
                               [&](const WantedJob &one) { return one.is(job, task_name); });
}

}  // namespace ringrt::ringstat

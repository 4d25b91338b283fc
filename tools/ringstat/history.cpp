// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/history.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

using Json = nlohmann::json;

// A value of the wrong type or out of range counts as missing: the log may be of a later version.
template <typename Number>
Number number_in(const Json &json, const char *key, double low, double high) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number()) return 0;
    const double value = found->get<double>();
    return value >= low && value <= high ? static_cast<Number>(value) : Number{0};
}

std::string text_in(const Json &json, const char *key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// False: the file does not exist or cannot be read (errno).
bool add_file(const std::string &path, History &history) {
    std::ifstream file(path);
    if (!file) return false;
    for (std::string line; std::getline(file, line);) {
        auto event = parse_event(line);
        if (!event)
            ++history.lines_skipped;
        else
            history.events.push_back(std::move(*event));
    }
    return !file.bad();
}

}  // namespace

std::optional<PastEvent> parse_event(std::string_view line) {
    if (line.empty() || line.size() > kEventLineBytesMax || line.front() != '{')
        return std::nullopt;
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    PastEvent event{.time_s = number_in<double>(json, "time", 0, 1e11),
                    .job = number_in<uint32_t>(json, "job", 0, UINT32_MAX),
                    .task = text_in(json, "array_task"),
                    .event = text_in(json, "event"),
                    .reason = text_in(json, "reason"),
                    .text = text_in(json, "text"),
                    .from = number_in<int>(json, "from", 0, 1e9),
                    .to = number_in<int>(json, "to", 0, 1e9),
                    .gap_s = number_in<double>(json, "gap_s", 0, 1e9),
                    .name = text_in(json, "name"),
                    .user_id = number_in<uint32_t>(json, "user", 0, UINT32_MAX)};
    if (event.time_s <= 0 || event.event.empty()) return std::nullopt;
    return event;
}

History read_history(const std::string &path) {
    History history;
    (void)add_file(path + ".1", history);
    if (!add_file(path, history))
        history.error = "cannot read the event log " + path + ": " + std::strerror(errno);
    return history;
}

std::vector<PastEvent> select(std::vector<PastEvent> events, const Selection &selection) {
    std::erase_if(events, [&](const PastEvent &event) {
        return (selection.job && !selection.job->is(event.job, event.task)) ||
               event.time_s < selection.since_s ||
               (selection.until_s > 0 && event.time_s > selection.until_s);
    });
    if (selection.last > 0 && events.size() > selection.last)
        events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(selection.last));
    return events;
}

std::string event_line(const PastEvent &event) {
    std::string sizes = std::to_string(event.from) + " -> " + std::to_string(event.to);
    if (event.from == 0 && event.to == 0) sizes = "-";
    return local_time(event.time_s) + name_cell(printable(shown_name(event.job, event.task)), 9) +
           " " + fit(printable(event.name), 10, false) + " " +
           fit(printable(event.event), 10, false) + "  " + fit(sizes, 9, false) + "  " +
           fit(printable(camel_case(event.reason)), 13, false) + "  " + printable(event.text);
}

}  // namespace ringrt::ringstat

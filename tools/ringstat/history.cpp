// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/history.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

using Json = nlohmann::json;

// Of the wrong type or out of range counts as missing: the log may be a later version's.
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

std::string local_time(double time_s) {
    const auto seconds = static_cast<time_t>(time_s);
    tm parts{};
    char text[32] = "?";
    if (localtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%FT%T", &parts);
    return text;
}

}  // namespace

std::optional<PastEvent> parse_event(std::string_view line) {
    if (line.empty() || line.size() > kEventLineBytesMax || line.front() != '{')
        return std::nullopt;
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    PastEvent event{.time_s = number_in<double>(json, "time", 0, 1e11),
                    .job = number_in<uint32_t>(json, "job", 0, UINT32_MAX),
                    .event = text_in(json, "event"),
                    .reason = text_in(json, "reason"),
                    .text = text_in(json, "text"),
                    .from = number_in<int>(json, "from", 0, 1e9),
                    .to = number_in<int>(json, "to", 0, 1e9),
                    .gap_s = number_in<double>(json, "gap_s", 0, 1e9)};
    if (event.time_s <= 0 || event.event.empty()) return std::nullopt;
    return event;
}

History read_history(const std::string &path, uint32_t job) {
    History history;
    std::ifstream file(path);
    if (!file) {
        history.error = "cannot read the event log " + path + ": " + std::strerror(errno);
        return history;
    }
    for (std::string line; std::getline(file, line);) {
        auto event = parse_event(line);
        if (!event)
            ++history.lines_skipped;
        else if (job == 0 || event->job == job)
            history.events.push_back(std::move(*event));
    }
    return history;
}

std::string event_line(const PastEvent &event) {
    std::string sizes = std::to_string(event.from) + " -> " + std::to_string(event.to);
    if (event.from == 0 && event.to == 0) sizes = "-";
    return local_time(event.time_s) + fit(std::to_string(event.job), 9, true) + "  " +
           fit(printable(event.event), 10, false) + "  " + fit(sizes, 9, false) + "  " +
           fit(printable(camel_case(event.reason)), 13, false) + "  " + printable(event.text);
}

}  // namespace ringrt::ringstat

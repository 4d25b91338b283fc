// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/report.h"

#include <nlohmann/json.hpp>

#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json or_null(const std::optional<Value> &value) {
    return value ? Json(*value) : Json(nullptr);
}

Json to_json(const JobView &job) {
    return {{"id", job.id},
            {"name", job.name},
            {"user", job.user},
            {"partition", job.partition},
            {"nodes", job.nodes},
            {"slurm_state", job.slurm_state},
            {"state", job.state},
            {"reason", job.reason},
            {"gpus", job.gpus},
            {"min", job.gpus_min},
            {"max", job.gpus_max},
            {"next", job.target == 0 ? Json(nullptr) : Json(job.target)},
            {"resizes", job.resizes},
            {"restarts", job.restarts},
            {"gap_s", job.gap_s > 0 ? Json(job.gap_s) : Json(nullptr)},
            {"time_s", job.time_s},
            {"step", or_null(job.step)},
            {"checkpoint_step", or_null(job.checkpoint_step)},
            {"step_ms", or_null(job.step_ms)},
            {"steps_left", or_null(job.steps_left)},
            {"left_s", or_null(job.left_s())}};
}

Json to_json(const PastEvent &event) {
    return {{"time", event.time_s}, {"job", event.job},  {"event", event.event},
            {"from", event.from},   {"to", event.to},    {"reason", event.reason},
            {"gap_s", event.gap_s}, {"text", event.text}};
}

std::string dumped(const Json &json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const char *mode_name(controller::Mode mode) {
    switch (mode) {
        case controller::Mode::act:
            return "act";
        case controller::Mode::observe:
            return "observe";
        case controller::Mode::off:
            return "off";
    }
    return "?";
}

}  // namespace

std::string jobs_json(std::span<const JobView> jobs, double now_s) {
    Json list = Json::array();
    for (const JobView &job : jobs) list.push_back(to_json(job));
    return dumped({{"time", now_s}, {"jobs", list}});
}

std::string history_json(std::span<const PastEvent> events) {
    Json list = Json::array();
    for (const PastEvent &event : events) list.push_back(to_json(event));
    return dumped({{"events", list}});
}

std::string explanation_json(const controller::Explanation &explanation, controller::Mode mode) {
    return dumped({{"job", explanation.job_id},
                   {"gpus", explanation.gpus},
                   {"wanted", explanation.wanted},
                   {"reason", camel_case(explanation.reason)},
                   {"text", explanation.text},
                   {"mode", mode_name(mode)}});
}

std::string explanation_text(const controller::Explanation &explanation, controller::Mode mode) {
    std::string text =
        "job " + std::to_string(explanation.job_id) + ": " + printable(explanation.text) + "\n";
    if (mode != controller::Mode::act)
        text += "malleable.yaml says mode: " + std::string(mode_name(mode)) +
                ", so nothing is resized\n";
    return text;
}

}  // namespace ringrt::ringstat

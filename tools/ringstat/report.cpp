// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/report.h"

#include <nlohmann/json.hpp>

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

}  // namespace ringrt::ringstat

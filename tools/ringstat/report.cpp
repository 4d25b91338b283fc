// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/report.h"

#include <algorithm>
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
            {"array_task", job.task.empty() ? Json(nullptr) : Json(job.task)},
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
            {"paused_since", or_null(job.paused_since_s)},
            {"step", or_null(job.step)},
            {"checkpoint_step", or_null(job.checkpoint_step)},
            {"step_ms", or_null(job.step_ms)},
            {"samples", or_null(job.samples)},
            {"samples_per_s", or_null(job.samples_per_s)},
            {"steps_left", or_null(job.steps_left)},
            {"left_s", or_null(job.left_s())}};
}

Json to_json(const PastEvent &event) {
    return {{"time", event.time_s},
            {"job", event.job},
            {"array_task", event.task.empty() ? Json(nullptr) : Json(event.task)},
            {"name", event.name.empty() ? Json(nullptr) : Json(event.name)},
            {"event", event.event},
            {"from", event.from},
            {"to", event.to},
            {"reason", event.reason},
            {"gap_s", event.gap_s},
            {"text", event.text}};
}

std::string dumped(const Json &json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string jobs_json(std::span<const JobView> jobs, const std::optional<Summary> &summary,
                      double now_s) {
    Json list = Json::array();
    for (const JobView &job : jobs) list.push_back(to_json(job));
    Json gpus;
    if (summary)
        gpus = {{"total", summary->gpus_total},
                {"away", summary->gpus_away},
                {"in_use", summary->gpus_in_use},
                {"borrowed", summary->gpus_borrowed}};
    return dumped({{"time", now_s}, {"gpus", gpus}, {"jobs", list}});
}

std::string history_json(std::span<const PastEvent> events) {
    Json list = Json::array();
    for (const PastEvent &event : events) list.push_back(to_json(event));
    return dumped({{"events", list}});
}

std::string explanation_json(const controller::Explanation &explanation, const Explanations &told,
                             double now_s) {
    return dumped({{"job", explanation.job_id},
                   {"gpus", explanation.gpus},
                   {"wanted", explanation.wanted},
                   {"reason", camel_case(explanation.reason)},
                   {"text", explanation.text},
                   {"mode", told.mode},
                   {"age_s", told.published_s ? Json(now_s - *told.published_s) : Json(nullptr)}});
}

std::string explanation_text(const std::string &name, const controller::Explanation &explanation,
                             const Explanations &told, double now_s) {
    std::string text = "job " + name + ": " + printable(explanation.text) + "\n";
    if (told.published_s)
        text += "decided " + duration(std::max(0.0, now_s - *told.published_s)) + " ago\n";
    else
        text += "computed here: the controller has reported nothing for a minute\n";
    if (told.mode != "act")
        text += "malleable.yaml sets mode: " + printable(told.mode) + ", so no job is resized\n";
    return text;
}

std::string ended_text(const JobView &job, double end_s) {
    std::string text = "job " + shown_name(job.id, job.task) + ": has ended: " + job.slurm_state;
    if (end_s > 0) text += " at " + local_time(end_s);
    if (job.time_s > 0) text += ", its last run took " + duration(job.time_s);
    return text + ", " + std::to_string(job.resizes) + " resizes\n";
}

std::string ended_json(const JobView &job) {
    return dumped({{"job", job.id},
                   {"gpus", 0},
                   {"wanted", 0},
                   {"reason", "Ended"},
                   {"text", "has ended: " + job.slurm_state},
                   {"mode", nullptr}});
}

}  // namespace ringrt::ringstat

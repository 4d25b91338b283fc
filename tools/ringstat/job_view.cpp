// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/job_view.h"

#include <algorithm>
#include <cctype>

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"
#include "tools/ringstat/text.h"

namespace ringrt::ringstat {
namespace {

using records::Intent;
using records::IntentState;
using slurm::ListedJob;

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::toupper(x) == std::toupper(y);
    });
}

template <typename Wanted, typename Matches>
bool none_or_any(const std::vector<Wanted> &wanted, Matches matches) {
    return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), matches);
}

bool state_wanted(const ListedJob &job, const std::vector<std::string> &states) {
    if (states.empty()) return !job.ended;
    return std::any_of(states.begin(), states.end(), [&](const std::string &state) {
        return equal_ignoring_case(state, "all") || equal_ignoring_case(state, job.state) ||
               equal_ignoring_case(state, job.state_short);
    });
}

bool passes(const ListedJob &job, const Filter &filter) {
    return none_or_any(filter.jobs,
                       [&](const WantedJob &one) { return one.is(job.id, job.task); }) &&
           none_or_any(filter.users,
                       [&](const std::string &user) {
                           return user == job.user || user == std::to_string(job.user_id);
                       }) &&
           none_or_any(filter.partitions,
                       [&](const std::string &name) { return name == job.partition; }) &&
           state_wanted(job, filter.states);
}

// Pending until the start time that its pause set. Slurm gives no reason until it next scans the
// queue.
bool is_paused(const ListedJob &job, const Intent &intent) {
    const bool waits_for_time =
        job.reason == "BeginTime" || job.reason == "None" || job.reason.empty();
    return job.pending && intent.state == IntentState::paused && waits_for_time;
}

std::string state_word(const ListedJob &job, const Intent &intent) {
    if (job.ended) return "ended";
    if (job.completing) return intent.state == IntentState::asked ? "leaving" : "ending";
    if (is_paused(job, intent)) return "paused";
    if (job.pending) return intent.gpus == 0 ? "new" : "waits";
    return intent.state == IntentState::asked ? "asked" : "steady";
}

// For a pending job, Slurm's reason; for a running one, the policy's reason for its size.
std::string reason_word(const ListedJob &job, const Intent &intent) {
    if (job.pending && !is_paused(job, intent) && !job.reason.empty() && job.reason != "None")
        return job.reason;
    return intent.why.empty() ? "None" : camel_case(intent.why);
}

// The MIN of a paused job is no decision: it gets a size when its pause ends.
int next_size(const ListedJob &job, const Intent &intent) {
    const bool has_it = intent.target == job.gpus && !job.pending;
    return has_it || is_paused(job, intent) ? 0 : intent.target;
}

void add_telemetry(const ListedJob &job, JobView &view) {
    const auto telemetry = records::parse_telemetry(job.comment);
    if (!telemetry) return;
    view.step = telemetry->step;
    if (telemetry->ckpt_step > 0) view.checkpoint_step = telemetry->ckpt_step;
    if (telemetry->steps_left >= 0) view.steps_left = telemetry->steps_left;
    // A step time that an earlier incarnation measured at another size is not valid now.
    if (telemetry->batch > 0) view.samples = telemetry->trained;
    if (telemetry->step_ms <= 0 || telemetry->gpus != view.gpus) return;
    view.step_ms = telemetry->step_ms;
    if (telemetry->batch > 0) view.samples_per_s = telemetry->samples_per_s();
}

JobView view_of(const ListedJob &job, const Intent &intent, double now_s) {
    JobView view{.id = job.id,
                 .task = job.task,
                 .name = job.name,
                 .user = job.user,
                 .partition = job.partition,
                 .nodes = job.nodes,
                 .slurm_state = job.state,
                 .slurm_state_short = job.state_short,
                 .state = state_word(job, intent),
                 .reason = reason_word(job, intent),
                 .gpus = job.pending || job.ended ? 0 : job.gpus,
                 .gpus_min = intent.gpus_min,
                 .gpus_max = intent.gpus_max,
                 .target = next_size(job, intent),
                 .resizes = intent.resizes,
                 .restarts = job.restarts,
                 .gap_s = intent.gap_s};
    if (is_paused(job, intent)) view.paused_since_s = intent.since_s;
    if (!job.pending && job.start_s > 0)
        view.time_s = std::max(0.0, (job.ended ? job.end_s : now_s) - job.start_s);
    add_telemetry(job, view);
    return view;
}

}  // namespace

std::optional<double> JobView::left_s() const {
    if (!steps_left || !step_ms) return std::nullopt;
    return static_cast<double>(*steps_left) * *step_ms / 1000;
}

std::vector<JobView> view_jobs(std::span<const ListedJob> listed, const Filter &filter,
                               double now_s) {
    std::vector<JobView> views;
    for (const ListedJob &job : listed) {
        if (!passes(job, filter)) continue;
        if (const auto intent = records::parse_intent(job.admin_comment))
            views.push_back(view_of(job, *intent, now_s));
    }
    std::ranges::sort(views, {}, [](const JobView &job) { return order_of(job.id, job.task); });
    return views;
}

}  // namespace ringrt::ringstat

// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/detach.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/slurm/cluster/slurm_cluster.h"
#include "slurm_plugin/slurm/cluster/slurm_library.h"
#include "slurm_plugin/slurm/host/administrator.h"
#include "slurm_plugin/slurm/host/slurm_paths.h"

namespace ringrt::ringstat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr std::size_t kShownMax = 20;

int fail(const std::string &what) {
    std::fflush(stdout);
    std::fprintf(stderr, "ringstat: detach: %s\n", what.c_str());
    return kNoAnswer;
}

// The state of its resize, or Slurm's state of the job.
std::string state_of(const controller::MalleableJob &job) {
    if (job.record->phase == controller::JobPhase::completing) return "completing";
    if (job.record->phase == controller::JobPhase::pending) return "pending";
    return job.is_resizing() ? "being resized" : "running";
}

struct Progress {
    std::set<uint32_t> seen;  // malleable at some time since the start
    std::vector<std::pair<uint32_t, std::string>> left;
    bool answered = false;
};

void look(slurm::SlurmCluster &cluster, Progress &progress) {
    controller::Observation observation;
    progress.answered = cluster.observe(observation) == controller::RpcStatus::ok;
    if (!progress.answered) return;
    progress.left.clear();
    for (const controller::MalleableJob &job : controller::malleable_jobs(observation, {})) {
        progress.seen.insert(job.record->id);
        progress.left.emplace_back(job.record->id, state_of(job));
    }
}

std::string list_of(const Progress &progress) {
    std::string out;
    for (std::size_t i = 0; i < std::min(progress.left.size(), kShownMax); ++i)
        out += (i > 0 ? ", " : "") + std::to_string(progress.left[i].first) + " (" +
               progress.left[i].second + ")";
    return out + (progress.left.size() > kShownMax ? ", ..." : "");
}

void show(const Progress &progress) {
    if (!progress.answered)
        std::puts("slurmctld does not answer; waiting");
    else if (!progress.left.empty())
        std::printf("%zu left: %s\n", progress.left.size(), list_of(progress).c_str());
    std::fflush(stdout);
}

void show_end(const Progress &progress, bool done, bool json) {
    const std::size_t handed_back = progress.seen.size() - (done ? 0 : progress.left.size());
    if (json) {
        nlohmann::json left = nlohmann::json::array();
        for (const auto &[job, state] : progress.left)
            left.push_back({{"job", job}, {"state", state}});
        const nlohmann::json out{{"done", done}, {"handed_back", handed_back}, {"left", left}};
        std::puts(out.dump(2).c_str());
    } else if (done) {
        std::printf(
            "done: %zu jobs handed back to Slurm, none is malleable; now remove the plugins (man "
            "sched_doubling)\n",
            handed_back);
    }
}

}  // namespace

int detach(const Options &options) {
    slurm::init_slurm_library();
    if (const auto why = slurm::not_administrator()) return fail(*why);
    const auto paths = slurm::ask_slurm_paths();
    if (!paths) return fail("slurmctld does not answer");
    slurm::SlurmCluster cluster;
    Progress progress;
    look(cluster, progress);
    if (const auto wrong = slurm::set_mode(paths->yaml, "detach")) return fail(*wrong);
    if (const auto wrong = slurm::reconfigure()) return fail(*wrong);
    const auto end = Clock::now() + std::chrono::duration<double>(options.detach_wait_s);
    std::string shown;
    do {
        look(cluster, progress);
        const std::string now = std::to_string(progress.answered) + list_of(progress);
        if (!options.json && now != shown) show(progress);
        shown = now;
        if (progress.answered && progress.left.empty()) {
            show_end(progress, true, options.json);
            return kOk;
        }
        std::this_thread::sleep_for(kLookEvery);
    } while (Clock::now() < end);
    show_end(progress, false, options.json);
    return fail(std::to_string(progress.left.size()) + " jobs are still malleable: " +
                list_of(progress) + "; it continues (mode: detach); see ringstat diag");
}

}  // namespace ringrt::ringstat

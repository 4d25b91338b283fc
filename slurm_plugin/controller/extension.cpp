// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/extension.h"

#include <algorithm>
#include <array>
#include <utility>

#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

namespace {

constexpr std::array<std::string_view, kExtensionStages> kExtensionStageNames{
    "pending", "joining", "joined", "leaving", "stray", "ended",
};

// From its start: the prolog, a container, the program's imports. The library gives up after
// RINGRT_START_TIMEOUT_MS, two minutes by default.
constexpr double kJoinMost_s = 300;

// Whether it may still hold GPUs.
bool has_gpus(const JobRecord &record) {
    return record.phase == JobPhase::running || record.phase == JobPhase::suspended;
}

bool is_of(const JobRecord &record, const JobRecord &base) {
    return record.extension->base == base.id && record.user_id == base.user_id;
}

bool is_of_run(const JobRecord &record, const JobRecord &base) {
    return is_of(record, base) && record.extension->run == base.restarts;
}

bool runs(const JobRecord &base) {
    return base.phase == JobPhase::running || base.phase == JobPhase::suspended;
}

void add_gpus(const JobRecord &extension, JobRecord &base) {
    base.gpus_requested += extension.gpus_requested;
    base.cpus_requested += extension.cpus_requested;
    if (base.gpus_allowed) *base.gpus_allowed += extension.gpus_requested;  // it already has them
    for (const auto &[node, gpus] : extension.gpus_on_node) {
        const auto same = std::ranges::find(base.gpus_on_node, node, &std::pair<int, int>::first);
        if (same != base.gpus_on_node.end())
            same->second += gpus;
        else
            base.gpus_on_node.emplace_back(node, gpus);
    }
}

}  // namespace

std::string_view to_string(ExtensionStage stage) {
    return kExtensionStageNames[static_cast<std::size_t>(stage)];
}

ExtensionStage extension_stage(const JobRecord &record, bool base_runs, int ranks_with, int ranks) {
    if (record.phase == JobPhase::finished || record.phase == JobPhase::completing)
        return ExtensionStage::ended;
    if (!base_runs) return ExtensionStage::stray;
    if (record.phase == JobPhase::pending) return ExtensionStage::pending;
    if (record.extension->asked_s > 0) return ExtensionStage::leaving;
    return ranks >= ranks_with ? ExtensionStage::joined : ExtensionStage::joining;
}

ExtensionStep extension_step(ExtensionStage stage, const ExtensionAges &ages, double grace_s,
                             const Options &options) {
    const auto cancel_after = [&](double most_s) {
        return ages.in_stage_s > most_s ? ExtensionStep::cancel : ExtensionStep::wait;
    };
    switch (stage) {
        case ExtensionStage::pending:
            return cancel_after(options.fit_wait_s);
        case ExtensionStage::joining:
            return cancel_after(kJoinMost_s);
        case ExtensionStage::leaving:
            if (ages.in_stage_s <= grace_s && ages.signalled_s >= options.signal_again_s)
                return ExtensionStep::signal_again;
            return cancel_after(grace_s);
        case ExtensionStage::stray:
            return ExtensionStep::cancel;
        case ExtensionStage::joined:
        case ExtensionStage::ended:
            break;
    }
    return ExtensionStep::nothing;
}

void Extensions::extract_from(Observation &observation) {
    const bool is_same = version_ != 0 && observation.version == version_;
    version_ = observation.version;
    if (is_same) return;  // the previous call removed them
    all_.clear();
    std::erase_if(observation.jobs, [&](JobRecord &record) {
        if (!record.extension) return false;
        all_.push_back(std::move(record));
        return true;
    });
    std::ranges::sort(all_, {}, [](const JobRecord &record) {
        return std::pair(record.extension->base, record.extension->level);
    });
    if (all_.empty()) return;
    for (JobRecord &base : observation.jobs) {
        if (!base.intent || !runs(base)) continue;
        for (const JobRecord &record : all_)
            if (has_gpus(record) && is_of_run(record, base)) add_gpus(record, base);
    }
}

std::vector<Extension> Extensions::of(const JobRecord &base) const {
    std::vector<Extension> out;
    if (!runs(base)) return out;
    int ranks_with = base.gpus_requested;
    for (const JobRecord &record : all_)
        if (has_gpus(record) && is_of_run(record, base)) ranks_with -= record.gpus_requested;
    const bool is_told = base.telemetry && base.telemetry->run == base.restarts;
    const int ranks = is_told ? base.telemetry->gpus : 0;
    for (const JobRecord &record : all_) {
        if (!is_of_run(record, base)) continue;
        ranks_with += has_gpus(record) ? record.gpus_requested : 0;
        const ExtensionStage stage = extension_stage(record, true, ranks_with, ranks);
        if (stage != ExtensionStage::ended) out.push_back({.record = &record, .stage = stage});
    }
    return out;
}

std::vector<const JobRecord *> Extensions::strays(const Observation &observation) const {
    std::vector<const JobRecord *> out;
    for (const JobRecord &record : all_) {
        const auto base = std::ranges::find_if(
            observation.jobs, [&](const JobRecord &job) { return is_of(record, job); });
        // While the base completes, the extension's ranks end with those of the base.
        const bool base_runs =
            base != observation.jobs.end() &&
            (base->phase == JobPhase::completing || (runs(*base) && is_of_run(record, *base)));
        const ExtensionStage stage = extension_stage(record, base_runs, 0, 0);
        const bool stops_base =
            record.phase == JobPhase::suspended && base_runs && base->phase == JobPhase::running;
        if (stage == ExtensionStage::stray || stops_base) out.push_back(&record);
    }
    return out;
}

int base_gpus(const MalleableJob &job) {
    int gpus = job.record->gpus_requested;
    for (const Extension &extension : job.extensions)
        if (has_gpus(*extension.record)) gpus -= extension.record->gpus_requested;
    return gpus;
}

namespace {

int gpus_in(const MalleableJob &job, ExtensionStage stage) {
    int gpus = 0;
    for (const Extension &extension : job.extensions)
        if (extension.stage == stage) gpus += extension.record->gpus_requested;
    return gpus;
}

}  // namespace

int pending_gpus(const MalleableJob &job) { return gpus_in(job, ExtensionStage::pending); }
int leaving_gpus(const MalleableJob &job) {
    const bool gives_nodes = job.intent.keep > 0 && job.extensions.empty();
    return gives_nodes ? std::max(0, job.record->gpus_requested - job.intent.keep)
                       : gpus_in(job, ExtensionStage::leaving);
}

bool is_changing(const MalleableJob &job) {
    return std::ranges::any_of(job.extensions, [](const Extension &extension) {
        return extension.stage != ExtensionStage::joined;
    });
}

bool is_live(const JobRecord &base, const records::Intent &intent, const Options &options) {
    return options.resize == Resize::live && !intent.layout.task_per_node && base.telemetry &&
           base.telemetry->run == base.restarts && base.telemetry->live;
}

}  // namespace ringrt::controller

// SPDX-License-Identifier: BSD-3-Clause
// An extension's stage for every record, the arrows of the drawing in extension.h, and a training
// as one job.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slurm_plugin/controller/extension.h"
#include "slurm_plugin/controller/job.h"
#include "tests/support/check.h"

using namespace ringrt::controller;
using namespace ringrt::test;
namespace records = ringrt::records;

namespace {

using enum ExtensionStage;

constexpr double kGrace_s = 60;

struct Facts {
    JobPhase phase;
    bool asked, base_runs, counted;
};

JobRecord record_of(const Facts &f) {
    JobRecord record{.id = 8, .phase = f.phase, .gpus_requested = 2};
    record.extension = records::Extension{.base = 7, .asked_s = f.asked ? 100.0 : 0};
    return record;
}

ExtensionStage stage_of_facts(const Facts &f) {
    return extension_stage(record_of(f), f.base_runs, 4, f.counted ? 4 : 2);
}

std::vector<Facts> all_facts() {
    std::vector<Facts> out;
    for (int phase = 0; phase <= static_cast<int>(JobPhase::finished); ++phase)
        for (const bool asked : {false, true})
            for (const bool base_runs : {false, true})
                for (const bool counted : {false, true})
                    out.push_back({static_cast<JobPhase>(phase), asked, base_runs, counted});
    return out;
}

// What may change between two passes: Slurm starts or ends it, the ranks count it or stop counting
// it, it is asked, its base ends. Only the ranks' count can be undone.
bool may_follow(const Facts &a, const Facts &b) {
    static constexpr JobPhase kOrder[] = {JobPhase::pending, JobPhase::running,
                                          JobPhase::completing, JobPhase::finished};
    const auto place = [](JobPhase phase) {
        return std::find(std::begin(kOrder), std::end(kOrder), phase) - std::begin(kOrder);
    };
    if (a.phase == JobPhase::suspended || b.phase == JobPhase::suspended) return false;
    if (place(b.phase) < place(a.phase) || (a.asked && !b.asked)) return false;
    if (!a.base_runs && b.base_runs) return false;
    // It is asked only after it has joined, and in a separate pass.
    return a.asked || !b.asked || (stage_of_facts(a) == joined && a.phase == b.phase);
}

// The drawing, arrow by arrow.
const std::set<std::pair<ExtensionStage, ExtensionStage>> kDrawn{
    {pending, joining},
    {joining, joined},
    {joined, leaving},
    {joined, joining},
    {leaving, ended},
    {pending, stray},
    {joining, stray},
    {joined, stray},
    {leaving, stray},
    {pending, ended},
    {joining, ended},
    {joined, ended},
    {stray, ended},  // cancelled
    // Two changes between two passes.
    {pending, joined},
};

JobRecord base_job(int ranks) {
    JobRecord base{.id = 7, .phase = JobPhase::running, .user_id = 5, .restarts = 1};
    base.gpus_requested = 1;
    base.gpus_on_node = {{0, 1}};
    base.intent = records::Intent{.gpus_max = 8};
    base.telemetry = records::Telemetry{.run = 1, .gpus = ranks, .live = true};
    return base;
}

JobRecord extension_job(uint32_t id, int level, int gpus, JobPhase phase = JobPhase::running) {
    JobRecord record{.id = id, .phase = phase, .user_id = 5};
    record.gpus_requested = gpus;
    if (phase == JobPhase::running) record.gpus_on_node = {{0, 1}, {level, gpus - 1}};
    record.extension = records::Extension{.base = 7, .run = 1, .level = level};
    return record;
}

}  // namespace

TEST(every_record_has_a_stage) {
    for (const Facts &f : all_facts()) {
        const ExtensionStage stage = stage_of_facts(f);
        if (f.phase == JobPhase::finished || f.phase == JobPhase::completing)
            ck_assert(stage == ended);
        else if (!f.base_runs)
            ck_assert(stage == stray);
        else if (f.phase == JobPhase::pending)
            ck_assert(stage == pending);
        else
            ck_assert(stage == (f.asked ? leaving : f.counted ? joined : joining));
    }
}

TEST(the_drawing_shows_exactly_the_possible_changes) {
    std::set<std::pair<ExtensionStage, ExtensionStage>> seen;
    for (const Facts &a : all_facts())
        for (const Facts &b : all_facts()) {
            const auto arrow = std::pair(stage_of_facts(a), stage_of_facts(b));
            // A new extension was never asked, and counts only once it runs.
            const bool is_real = !(a.phase == JobPhase::pending && a.asked) &&
                                 !(b.phase == JobPhase::pending && b.asked);
            if (arrow.first == arrow.second || !is_real || !may_follow(a, b)) continue;
            seen.insert(arrow);
            ck_assert_msg(kDrawn.contains(arrow), "%s -> %s is not drawn",
                          std::string(to_string(arrow.first)).c_str(),
                          std::string(to_string(arrow.second)).c_str());
        }
    ck_assert(seen == kDrawn);
}

TEST(every_waiting_stage_ends) {
    const Options options;
    const auto step = [&](ExtensionStage stage, double in_stage_s, double signalled_s = 0) {
        return extension_step(stage, {in_stage_s, signalled_s}, kGrace_s, options);
    };
    for (const ExtensionStage stage : {pending, joining, leaving, stray})
        ck_assert(step(stage, 1e6, 1e6) == ExtensionStep::cancel);
    for (const ExtensionStage stage : {pending, joining, leaving})
        ck_assert(step(stage, 1) == ExtensionStep::wait);
    ck_assert(step(leaving, 10, options.signal_again_s) == ExtensionStep::signal_again);
    for (const ExtensionStage stage : {joined, ended})
        ck_assert(step(stage, 1e6, 1e6) == ExtensionStep::nothing);
}

TEST(a_training_is_one_job) {
    Observation seen{.version = 3, .now_s = 1000};
    seen.jobs = {extension_job(9, 2, 2), base_job(2), extension_job(8, 1, 1),
                 extension_job(10, 3, 4, JobPhase::pending)};
    Extensions extensions;
    extensions.extract_from(seen);
    extensions.extract_from(seen);  // the same version: counted once
    ck_assert(seen.jobs.size() == 1);
    ck_assert(seen.jobs[0].gpus_requested == 4);
    int held = 0;
    for (const auto &[node, gpus] : seen.jobs[0].gpus_on_node) held += gpus;
    ck_assert(held == 4);
    const MalleableJob job{.record = &seen.jobs[0],
                           .intent = *seen.jobs[0].intent,
                           .extensions = extensions.of(seen.jobs[0])};
    ck_assert(job.extensions.size() == 3 && job.extensions[0].record->id == 8);
    ck_assert(job.extensions[0].stage == joined);   // its base reports two ranks
    ck_assert(job.extensions[1].stage == joining);  // and not yet four
    ck_assert(job.extensions[2].stage == pending);
    ck_assert(base_gpus(job) == 1 && pending_gpus(job) == 4 && is_changing(job));
    ck_assert(extensions.strays(seen).empty());
}

// slurmctld counts extensions under the base's limits, while the limits listed are for the base
// alone.
TEST(extensions_gpus_count_toward_the_bases_limit) {
    Observation seen{.version = 3, .now_s = 1000};
    seen.jobs = {base_job(2), extension_job(8, 1, 1), extension_job(9, 2, 2),
                 extension_job(10, 3, 4, JobPhase::pending)};
    seen.jobs[0].gpus_allowed = 5;  // a limit of 8: its extensions use three
    Extensions().extract_from(seen);
    ck_assert(seen.jobs[0].gpus_allowed == 8);
    seen.jobs = {base_job(2), extension_job(8, 1, 1)};
    Extensions().extract_from(seen);
    ck_assert(seen.jobs[0].gpus_allowed == std::nullopt);
}

TEST(an_extension_without_its_base_is_a_stray) {
    const auto strays = [](JobRecord base) {
        Observation seen{.version = 1};
        seen.jobs = {std::move(base), extension_job(8, 1, 1)};
        Extensions extensions;
        extensions.extract_from(seen);
        return extensions.strays(seen).size();
    };
    JobRecord base = base_job(2);
    ck_assert(strays(base) == 0);
    base.phase = JobPhase::completing;  // its ranks end without help
    ck_assert(strays(base) == 0);
    for (const JobPhase phase : {JobPhase::finished, JobPhase::pending}) {
        base.phase = phase;
        ck_assert(strays(base) == 1);
    }
    base.phase = JobPhase::running;
    base.restarts = 2;  // another run, to which the extension does not belong
    ck_assert(strays(base) == 1);
    base.restarts = 1;
    base.user_id = 6;  // another user's job is not a base
    ck_assert(strays(base) == 1);
    base.id = 70;
    ck_assert(strays(base) == 1);
}

// Slurm may preempt an extension by suspending it: the ranks of its running base would wait for it.
TEST(a_suspended_extension_of_a_running_base_is_cancelled) {
    for (const JobPhase phase : {JobPhase::running, JobPhase::suspended, JobPhase::completing}) {
        Observation seen{.version = 1};
        seen.jobs = {base_job(2), extension_job(8, 1, 1, JobPhase::suspended)};
        seen.jobs[0].phase = phase;
        Extensions extensions;
        extensions.extract_from(seen);
        ck_assert_uint_eq(extensions.strays(seen).size(), phase == JobPhase::running ? 1 : 0);
    }
}

TEST(an_extensions_record_is_read_as_written) {
    const records::Extension extension{.base = 12, .run = 3, .level = 2, .asked_s = 1763721600};
    ck_assert(records::parse_extension(records::format_extension(extension)) == extension);
    for (const char *wrong : {"", "extension/1 of=12 run=3", "extension/1 of=0 run=0 level=1",
                              "extension/1 of=1 of=2 run=0 level=1", "malleable/1 min=1"})
        ck_assert(!records::parse_extension(wrong));
}

int main() { return ringrt::test::run_all("extension"); }

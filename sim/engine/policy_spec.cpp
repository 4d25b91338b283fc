// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/policy_spec.h"

#include <array>
#include <charconv>

#include "sim/workload/csv.h"
#include "slurm_plugin/policy/engine/knapsack.h"
#include "slurm_plugin/policy/pausing.h"

namespace ringrt::sim {
namespace {

using policy::GainRule;

// If the batch adapts, long jobs gain from GPUs for longer and need less weight (doc/policies.md).
constexpr double kGoodputPower = 0.6;

std::vector<policy::Allotment> decide_optimum(const policy::SimJobs &jobs,
                                              const policy::Capacity &capacity,
                                              const policy::Options &options) {
    return policy::decide_optimum(jobs.jobs, capacity, options);
}

struct Row {
    std::string_view name;
    std::variant<policy::Decide, policy::SimDecide> decide;  // null: the plugin
    Placement placement;                                     // its authors'
    Knowledge knowledge;
    std::string_view help;
};

constexpr std::array kRows{
    Row{"plugin", policy::Decide{}, Placement::pack, Knowledge::plugin,
        "the plugin's own loop and policy on a Slurm in virtual time, start sizes included"},
    Row{"fifo", policy::decide_fifo, Placement::spread, Knowledge::oracle,
        "stock Slurm: first come, first served, with backfill; rigid"},
    Row{"fixed:", policy::decide_fifo, Placement::pack, Knowledge::oracle,
        "as fifo, but every job has K GPUs: fixed:1, fixed:8"},
    Row{"srtf", policy::decide_srtf, Placement::spread, Knowledge::oracle,
        "shortest remaining time first, rigid, jobs are stopped for shorter ones"},
    Row{"tiresias", policy::decide_tiresias, Placement::spread, Knowledge::oracle,
        "two-dimensional least attained service, rigid (NSDI 2019)"},
    Row{"optimus", policy::decide_optimus, Placement::spread_small_first, Knowledge::oracle,
        "one GPU at a time to the largest saving (EuroSys 2018)"},
    Row{"afs", policy::decide_afs, Placement::spread_small_first, Knowledge::oracle,
        "apathetic future share: short jobs first, unless long ones scale better "
        "(NSDI 2021)"},
    Row{"optimum", decide_optimum, Placement::pack, Knowledge::learned,
        "the exact optimum of each decision by the value of doubling-short-first; "
        "slow"},
    Row{"goodput", policy::decide_doubling_and_pause, Placement::pack, Knowledge::learned,
        "doubling-short-first on throughput x statistical efficiency; the batch "
        "adapts"},
};

PolicySpec spec_of(std::string_view name) {
    PolicySpec out{.name = std::string(name)};
    if (const policy::Policy *found = policy::find_policy(name)) {
        out.decide = found->decide;
        out.placement = out.authors_placement = Placement::pack_evenly;
        out.options = policy::options_of(*found, [](const policy::Param &p) { return p.initial; });
        return out;
    }
    for (const Row &row : kRows) {
        if (row.name != name && !(row.name == "fixed:" && name.starts_with(row.name))) continue;
        out.decide = row.decide;
        out.authors_placement = row.placement;
        out.on_ladder = row.placement == Placement::pack;
        if (row.name == "optimum" || row.name == "goodput")
            out.placement = out.authors_placement = Placement::pack_evenly;
        if (row.name == "fifo") out.placement = Placement::pack_still;
        out.knowledge = row.knowledge;
        out.adapts_batch = row.name == "goodput";
        if (row.name == "optimum" || out.adapts_batch) out.options.gain = GainRule::short_first;
        if (out.adapts_batch) out.options.power = kGoodputPower;
        if (row.knowledge == Knowledge::plugin) out.plugin.emplace();
        return out;
    }
    std::string known;
    for (const PolicyRow &row : policy_rows())
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    throw InputError("policy \"" + printable(name) + "\" is not known; expected one of " + known);
}

int fixed_size(std::string_view name) {
    int gpus = 0;
    const std::string_view digits = name.substr(6);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), gpus);
    if (error != std::errc{} || end != digits.data() + digits.size() || gpus < 1 || gpus > 65536)
        throw InputError(
            "policy: expected fixed:K with K in 1..65536 (for example fixed:8), got \"" +
            printable(name) + "\"");
    return gpus;
}

Knowledge knowledge_of(std::string_view text) {
    if (text == "oracle") return Knowledge::oracle;
    if (text == "learned") return Knowledge::learned;
    if (text == "alone") return Knowledge::alone;
    if (text == "wrong") return Knowledge::wrong;
    if (text == "prior") return Knowledge::prior;
    throw InputError("policy: expected NAME@oracle, @learned, @alone, @wrong or @prior, got \"@" +
                     printable(text) + "\"");
}

struct Known {
    std::string_view word, meaning;
};
constexpr Known kLimits{"limits", "requested sizes and time limits"};
constexpr Known kService{"service", "requested sizes, and the GPU-seconds that a job has received"};
constexpr Known kTruth{"truth", "true speeds at every size and the true work left"};
constexpr Known kWrong{"wrong", "the truth times a fixed error"};
constexpr Known kPrior{
    "prior",
    "the true work left; speeds in error, but for the sizes that the job measured in this run"};
constexpr Known kLearned{"learned",
                         "the true work left; speeds measured in this run, shared by all jobs of "
                         "an application"};
constexpr Known kAlone{"alone", "speeds that the job itself measured in this run; no work left"};
constexpr Known kTold{
    "telemetry", "what each job measured: its steps left; its speeds, shared by jobs of its name"};
constexpr std::array kKnown{kLimits, kService, kTruth, kWrong, kPrior, kLearned, kAlone, kTold};

}  // namespace

std::string_view knows(const PolicySpec &policy) {
    const std::string_view name = std::string_view(policy.name).substr(0, policy.name.find('@'));
    if (name == "fifo" || name.starts_with("fixed:")) return kLimits.word;
    if (name == "tiresias") return kService.word;
    switch (policy.knowledge) {
        case Knowledge::oracle:
            return kTruth.word;
        case Knowledge::learned:
            return kLearned.word;
        case Knowledge::alone:
            return kAlone.word;
        case Knowledge::wrong:
            return kWrong.word;
        case Knowledge::prior:
            return kPrior.word;
        case Knowledge::plugin:
            return kTold.word;
    }
    return "";
}

std::string_view knowledge_description(std::string_view word) {
    for (const Known &known : kKnown)
        if (known.word == word) return known.meaning;
    return "";
}

std::vector<PolicyRow> policy_rows() {
    std::vector<PolicyRow> rows;
    for (const Row &row : kRows)
        rows.push_back({row.name == "fixed:" ? "fixed:K" : row.name, row.knowledge, row.help});
    for (const policy::Policy &policy : policy::policies())
        rows.push_back({policy.name, Knowledge::learned, policy.help});
    return rows;
}

PolicySpec parse_policy(std::string_view text) {
    const std::size_t at = text.find('@');
    const std::string_view name = text.substr(0, at);
    PolicySpec out = spec_of(name);
    out.name = std::string(text);
    out.knowledge_given = at != std::string_view::npos;
    if (out.knowledge_given && out.plugin)
        throw InputError("policy: plugin uses only what jobs report: got \"" + printable(text) +
                         "\"");
    if (out.knowledge_given) out.knowledge = knowledge_of(text.substr(at + 1));
    if (out.adapts_batch && is_in_error(out.knowledge))
        throw InputError("policy: " + printable(text) +
                         " does not exist: goodput@oracle, @learned or @alone");
    if (name.starts_with("fixed:")) out.fixed_gpus = fixed_size(name);
    return out;
}

}  // namespace ringrt::sim

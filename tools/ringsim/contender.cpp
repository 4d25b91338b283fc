// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringsim/contender.h"

#include <array>
#include <charconv>

#include "slurm_plugin/policy/baselines.h"
#include "slurm_plugin/policy/doubling.h"
#include "slurm_plugin/policy/optimum.h"
#include "tools/ringsim/csv.h"

namespace ringrt::sim {
namespace {

using policy::GainRule;

// Where the batch adapts, long jobs gain from GPUs for longer and need less weight (doc/policies.md).
constexpr double kGoodputPower = 0.6;

struct Row {
    std::string_view name;
    policy::Decide decide;
    GainRule gain;
    Placement placement;
    bool adapts_batch;
    Knowledge knowledge;
    std::string_view help;
};

constexpr std::array kBaselines{
    Row{"fifo", policy::decide_fifo, GainRule::absolute, Placement::spread, false,
        Knowledge::oracle, "stock Slurm: first come, first served, with backfill; rigid"},
    Row{"fixed:", policy::decide_fifo, GainRule::absolute, Placement::pack, false,
        Knowledge::oracle, "as fifo, but every job has K GPUs: fixed:1, fixed:8"},
    Row{"srtf", policy::decide_srtf, GainRule::absolute, Placement::spread, false,
        Knowledge::oracle,
        "shortest remaining time first, rigid, jobs are stopped for shorter ones"},
    Row{"tiresias", policy::decide_tiresias, GainRule::absolute, Placement::spread, false,
        Knowledge::oracle, "two-dimensional least attained service, rigid (NSDI 2019)"},
    Row{"optimus", policy::decide_optimus, GainRule::absolute, Placement::spread_small_first, false,
        Knowledge::oracle, "one GPU at a time to the largest saving (EuroSys 2018)"},
    Row{"afs", policy::decide_afs, GainRule::absolute, Placement::spread_small_first, false,
        Knowledge::oracle,
        "apathetic future share: short jobs first, unless long ones scale better "
        "(NSDI 2021)"},
    Row{"optimum", policy::decide_optimum, GainRule::short_first, Placement::pack, false,
        Knowledge::learned,
        "the exact optimum of each decision by the value of doubling-short-first; "
        "slow"},
    Row{"goodput", policy::decide_doubling, GainRule::short_first, Placement::pack, true,
        Knowledge::learned,
        "doubling-short-first on throughput x statistical efficiency; the batch "
        "adapts"},
};

Row row_of(std::string_view name) {
    for (const Row &row : kBaselines)
        if (row.name == name || (row.name == "fixed:" && name.starts_with(row.name))) return row;
    if (const policy::Policy *found = policy::find_policy(name))
        return {found->name, found->decide,      found->gain, Placement::pack,
                false,       Knowledge::learned, found->help};
    std::string known;
    for (const ContenderRow &row : contender_rows())
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    throw InputError("policy \"" + printable(name) + "\" is not known; known are " + known);
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
    if (text == "wrong") return Knowledge::wrong;
    throw InputError("policy: expected NAME@oracle, NAME@learned or NAME@wrong, got \"@" +
                     printable(text) + "\"");
}

}  // namespace

std::vector<ContenderRow> contender_rows() {
    std::vector<ContenderRow> rows;
    for (const Row &row : kBaselines)
        rows.push_back({row.name == "fixed:" ? "fixed:K" : row.name, row.knowledge, row.help});
    for (const policy::Policy &policy : policy::policies())
        rows.push_back({policy.name, Knowledge::learned, policy.help});
    return rows;
}

NamedContender find_contender(std::string_view text) {
    const std::size_t at = text.find('@');
    const std::string_view name = text.substr(0, at);
    const Row row = row_of(name);
    NamedContender out{.knowledge = row.knowledge};
    if (at != std::string_view::npos) out.knowledge = knowledge_of(text.substr(at + 1));
    out.contender.name = std::string(text);
    out.contender.decide = row.decide;
    out.contender.options.gain = row.gain;
    out.contender.placement = row.placement;
    out.contender.adapts_batch = row.adapts_batch;
    if (row.adapts_batch) out.contender.options.power = kGoodputPower;
    if (row.name == "fixed:") out.contender.fixed_gpus = fixed_size(name);
    return out;
}

}  // namespace ringrt::sim

// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <variant>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

namespace {

using Member = std::variant<double Options::*, int Options::*, Mode Options::*, Reclaim Options::*,
                            Resize Options::*, Pausing Options::*, std::string Options::*,
                            const policy::Param *>;

struct Row {
    Parameter parameter;
    Member member;
};

Row seconds(std::string_view name, double Options::*member, double low, double high,
            std::string_view help) {
    return {{name, ParameterType::seconds, low, high, "", help}, member};
}

Row number(std::string_view name, double Options::*member, double low, double high,
           std::string_view help) {
    return {{name, ParameterType::number, low, high, "", help}, member};
}

Row integer(std::string_view name, int Options::*member, double low, double high,
            std::string_view help) {
    return {{name, ParameterType::integer, low, high, "", help}, member};
}

template <typename Choice>
Row choice(std::string_view name, Choice Options::*member, std::string_view choices,
           std::string_view help) {
    return {{name, ParameterType::choice, 0, 0, choices, help}, member};
}

Row name(std::string_view name, std::string Options::*member, std::string_view help) {
    return {{name, ParameterType::name, 0, 0, "", help}, member};
}

// "a|b|c" of all policies.
std::string policy_names() {
    std::string names;
    for (const policy::Policy &p : policy::policies())
        names.append(names.empty() ? "" : "|").append(p.name);
    return names;
}

// Parameters that policies declare, each once: several policies may share one.
void add_policy_params(std::vector<Row> &rows) {
    for (const policy::Policy &policy : policy::policies())
        for (const policy::Param &param : policy.params)
            if (std::ranges::none_of(
                    rows, [&](const Row &row) { return row.parameter.name == param.name; }))
                rows.push_back(
                    {{param.name, ParameterType::number, param.low, param.high, "", param.help},
                     &param});
}

void add_pause_rows(std::vector<Row> &table) {
    table.push_back(choice("pause", &Options::pause, "asked|never|all",
                           "Which running jobs may be paused: those whose users ask "
                           "for it, none, or all malleable jobs"));
    table.push_back(seconds("pause_longest_s", &Options::pause_longest_s, 0, 604800,
                            "Time after which a paused job takes its place among the pending jobs "
                            "again"));
}

void add_live_rows(std::vector<Row> &table) {
    table.push_back(choice("resize", &Options::resize, "requeue|live",
                           "How a running job changes its size: by a requeue, or by extension "
                           "jobs that join and leave it, if its program supports that"));
    table.push_back(name("extension_partition", &Options::extension_partition,
                         "Partition of extension jobs, for example one whose jobs Slurm preempts; "
                         "if it is not set, the base's partition"));
    table.push_back(name("extension_qos", &Options::extension_qos,
                         "QOS of extension jobs; if it is not set, the base's QOS; their owners "
                         "must be allowed to use it"));
}

std::vector<Row> all_rows() {
    static const std::string policy_choices = policy_names();
    std::vector<Row> table{
        choice("mode", &Options::mode, "act|observe|off|detach",
               "act: resize jobs; observe: decide and log, change nothing; off: do nothing; "
               "detach: hand every job back to Slurm"),
        choice("policy", &Options::policy, policy_choices,
               "How GPUs are divided among malleable jobs"),
        seconds("interval_s", &Options::interval_s, 0.1, 86400,
                "Longest time between two decisions; one follows at once when a job arrives or "
                "ends, and when Slurm has found no room for a new rigid job"),
        seconds("idle_poll_s", &Options::idle_poll_s, 0.001, 3600,
                "Time between two polls of Slurm while no resize is under way and no job waits to "
                "be released"),
        seconds("busy_poll_s", &Options::busy_poll_s, 0.001, 60,
                "Time between two polls of Slurm while a resize is under way or a job waits to be "
                "released"),
        seconds("settle_s", &Options::settle_s, 0, 86400,
                "Run time after which a job that reports nothing may be resized"),
        seconds("min_resize_interval_s", &Options::min_resize_interval_s, 0, 604800,
                "Shortest time between two resizes of one job while no job waits for GPUs, and "
                "before a growth of a job whose speed is not known"),
        seconds("signal_again_s", &Options::signal_again_s, 1, 3600,
                "Time after which the signal to a job that has not requeued yet is repeated"),
        seconds("release_delay_s", &Options::release_delay_s, 1, 3600,
                "Time from a job's requeue to its release, in whole seconds of slurmctld's clock; "
                "slurmd refuses a job that is launched in the second in which its last run ended"),
        seconds("submit_hold_s", &Options::submit_hold_s, 0, 3600,
                "Longest time that a new malleable job waits for its first size"),
        seconds("fit_wait_s", &Options::fit_wait_s, 1, 3600,
                "Time after which a released job whose size is not free gets the largest size that "
                "is free"),
        seconds("back_off_s", &Options::back_off_s, 1, 86400,
                "Wait after a resize that was called off; it doubles each time, up to one day"),
        seconds("grace_most_s", &Options::grace_most_s, 1, 86400,
                "Upper limit of every job's grace time"),
        integer("resizes_in_flight", &Options::resizes_in_flight, 1, 1000,
                "Most resizes under way at once, of all users and of each one"),
        integer("breaker_jobs", &Options::breaker_jobs, 1, 1000,
                "Jobs of one user whose resizes must fail in a row to stop the resizes of this "
                "user; as many users stop all"),
        seconds("breaker_pause_s", &Options::breaker_pause_s, 1, 86400,
                "How long they are stopped; after it, one job is tried"),
        number("payback", &Options::payback, 0, 1000,
               "A growth must save more than this multiple of its stop and restart cost"),
        seconds("restart_s", &Options::restart_s, 0, 86400,
                "Cost of a stop and restart that is assumed until a job's own cost is measured"),
        choice(
            "reclaim", &Options::reclaim, "any|higher-priority",
            "Which pending rigid jobs get back the GPUs that malleable jobs hold above their MIN"),
    };
    add_pause_rows(table);
    add_live_rows(table);
    add_policy_params(table);
    return table;
}

// Static in a function, so that the plugin runs no constructor when it is loaded.
const std::vector<Row> &rows() {
    static const std::vector<Row> table = all_rows();
    return table;
}

const Row *find_row(std::string_view name) {
    for (const Row &row : rows())
        if (row.parameter.name == name) return &row;
    return nullptr;
}

// The index of `text` in "a|b|c"; -1 if it is not in it.
int choice_index(std::string_view choices, std::string_view text) {
    for (int index = 0; !choices.empty(); ++index) {
        const std::size_t bar = std::min(choices.find('|'), choices.size());
        if (choices.substr(0, bar) == text) return index;
        choices.remove_prefix(std::min(bar + 1, choices.size()));
    }
    return -1;
}

std::string_view choice_name(std::string_view choices, int index) {
    for (; index > 0; --index) choices.remove_prefix(choices.find('|') + 1);
    return choices.substr(0, choices.find('|'));
}

std::string shown(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

std::string got(std::string_view text) {
    std::string out = ", got \"";
    for (const char c : text.substr(0, 40))
        out += c >= 0x20 && c < 0x7f && c != '"' && c != '\\' ? c : '?';
    return out + (text.size() > 40 ? "...\"" : "\"");
}

// The same characters as in Slurm's names; empty means none.
bool is_name(std::string_view text) {
    const auto fits = [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '@';
    };
    return text.size() <= 64 && std::ranges::all_of(text, fits);
}

std::optional<double> to_number(const Parameter &p, std::string_view text) {
    double value = 0;
    const char *end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    if (text.empty() || text.size() > 32 || result.ec != std::errc{} || result.ptr != end)
        return std::nullopt;
    if (!(value >= p.low && value <= p.high)) return std::nullopt;
    if (p.type == ParameterType::integer && value != std::floor(value)) return std::nullopt;
    return value;
}

struct SetNumber {
    Options &options;
    double value;
    bool operator()(double Options::*m) const { return options.*m = value, true; }
    bool operator()(int Options::*m) const { return options.*m = static_cast<int>(value), true; }
    bool operator()(const policy::Param *p) const {
        return options.policy_params.insert_or_assign(std::string(p->name), value), true;
    }
    template <typename Other>
    bool operator()(Other) const {
        return false;
    }
};

struct SetChoice {
    Options &options;
    int index;
    std::string_view text;
    bool operator()(Mode Options::*m) const { return options.*m = static_cast<Mode>(index), true; }
    bool operator()(Reclaim Options::*m) const {
        return options.*m = static_cast<Reclaim>(index), true;
    }
    bool operator()(Resize Options::*m) const {
        return options.*m = static_cast<Resize>(index), true;
    }
    bool operator()(Pausing Options::*m) const {
        return options.*m = static_cast<Pausing>(index), true;
    }
    bool operator()(std::string Options::*m) const { return options.*m = text, true; }
    template <typename Other>
    bool operator()(Other) const {
        return false;
    }
};

struct Get {
    const Options &options;
    std::string_view choices;
    std::string operator()(double Options::*m) const { return shown(options.*m); }
    std::string operator()(int Options::*m) const { return std::to_string(options.*m); }
    std::string operator()(std::string Options::*m) const { return options.*m; }
    std::string operator()(const policy::Param *p) const {
        const auto set = options.policy_params.find(p->name);
        return shown(set == options.policy_params.end() ? p->initial : set->second);
    }
    template <typename Choice>
    std::string operator()(Choice Options::*m) const {
        return std::string(choice_name(choices, static_cast<int>(options.*m)));
    }
};

}  // namespace

std::span<const Parameter> parameters() {
    static const auto list = [] {
        std::vector<Parameter> out;
        for (const Row &row : rows()) out.push_back(row.parameter);
        return out;
    }();
    return list;
}

const Parameter *find_parameter(std::string_view name) {
    const Row *row = find_row(name);
    return row ? &row->parameter : nullptr;
}

std::optional<std::string> set_parameter(Options &options, std::string_view name,
                                         std::string_view text) {
    const Row *row = find_row(name);
    if (!row) return "unknown key" + got(name);
    const Parameter &p = row->parameter;
    if (p.type == ParameterType::choice) {
        const int index = choice_index(p.choices, text);
        if (index < 0)
            return std::string(name) + ": expected one of " + std::string(p.choices) + got(text);
        std::visit(SetChoice{options, index, text}, row->member);
        return std::nullopt;
    }
    if (p.type == ParameterType::name) {
        if (!is_name(text)) return std::string(name) + ": expected a name" + got(text);
        std::visit(SetChoice{options, 0, text}, row->member);
        return std::nullopt;
    }
    const std::optional<double> value = to_number(p, text);
    if (!value) {
        return std::string(name) + ": expected " +
               (p.type == ParameterType::integer ? "a whole number" : "a number") + " from " +
               shown(p.low) + " to " + shown(p.high) + got(text);
    }
    std::visit(SetNumber{options, *value}, row->member);
    return std::nullopt;
}

std::string get_parameter(const Options &options, std::string_view name) {
    const Row *row = find_row(name);
    return row ? std::visit(Get{options, row->parameter.choices}, row->member) : std::string();
}

}  // namespace ringrt::controller

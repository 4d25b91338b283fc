// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/host/metrics.h"

#include <charconv>
#include <cmath>

#include "build_config.h"

namespace ringrt::slurm {
namespace {

using controller::ResizeCounts;

// The differences of the two formats: OpenMetrics omits a counter's "_total" from its family name,
// and has units, the types info and stateset, and an end marker.
class Text {
  public:
    explicit Text(Exposition exposition) : open_(exposition == Exposition::openmetrics) {}

    Text &family(std::string_view name, std::string_view type, std::string_view help) {
        name_ = "ringrt_" + std::string(name);
        suffix_ = type == "counter" ? "_total" : type == "info" ? "_info" : "";
        const bool unknown_there = type == "info" || type == "stateset";
        const std::string shown = open_ ? name_ : name_ + suffix_;
        const std::string_view shown_type = open_ || !unknown_there ? type : "gauge";
        out_ += "# TYPE " + shown + ' ' + std::string(shown_type) + '\n';
        if (open_ && name_.ends_with("_seconds")) out_ += "# UNIT " + shown + " seconds\n";
        out_ += "# HELP " + shown + ' ' + std::string(help) + '\n';
        return *this;
    }

    // `labels`: {reason="best_gain"}, or empty.
    Text &sample(double value, const std::string &labels = "", std::string_view part = "") {
        out_ += name_ + std::string(part.empty() ? suffix_ : part) + labels + ' ' + shown(value);
        out_ += '\n';
        return *this;
    }

    std::string done() { return std::move(out_) + (open_ ? "# EOF\n" : ""); }

  private:
    static std::string shown(double value) {
        if (!std::isfinite(value)) return "0";
        char text[400];
        const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
        return {text, end.ptr};
    }

    bool open_;
    std::string name_, suffix_, out_;
};

// The controller's reason codes are safe, but a job's record can hold any text: replaces unsafe
// characters of a label by '_'.
std::string label(std::string_view name, std::string_view value) {
    std::string out = std::string(name) + "=\"";
    for (const char c : value.substr(0, 64)) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        out += plain || c == '.' || c == '-' || c == ' ' || c == ':' ? c : '_';
    }
    return out + '"';
}

std::string one(std::string_view name, std::string_view value) {
    return '{' + label(name, value) + '}';
}

double seconds(double ms) { return ms / 1000; }

void add_account(Text &text, const Diag &diag) {
    const controller::Statistics &s = *diag.statistics;
    const std::string mode = controller::get_parameter(*diag.options, "mode");
    text.family("build", "info", "Version of ringrt.").sample(1, one("version", PACKAGE_VERSION));
    text.family("policy", "info", "Policy in force.")
        .sample(1, one("policy", diag.options->policy));
    text.family("mode", "stateset", "Mode in force.");
    for (const char *name : {"act", "observe", "off", "detach"})
        text.sample(mode == name, one("ringrt_mode", name));
    text.family("start_time_seconds", "gauge", "Start time of the controller, Unix time.")
        .sample(diag.started_s);
    text.family("last_pass_time_seconds", "gauge", "End of the last pass, Unix time.")
        .sample(diag.time_s);
    text.family("configuration_refused", "gauge",
                "1: the newest malleable.yaml was refused and an older configuration is in force.")
        .sample(!diag.refusal.empty());
    text.family("breaker_open", "gauge",
                "1: no job is resized, because several resizes in a row failed.")
        .sample(s.breaker_until_s > diag.time_s);
    text.family("exceptions", "counter", "Passes that failed.")
        .sample(static_cast<double>(s.exceptions));
    text.family("failed_observations", "counter", "Passes in which slurmctld did not answer.")
        .sample(static_cast<double>(s.failed_observations));
}

void add_jobs(Text &text, const Diag &diag) {
    const controller::Statistics &s = *diag.statistics;
    text.family("malleable_jobs", "gauge", "Malleable jobs that have not ended.")
        .sample(s.malleable - s.waiting, one("state", "running"))
        .sample(s.waiting, one("state", "waiting"));
    text.family("jobs_paused", "gauge", "Paused jobs; they count as waiting, too.")
        .sample(s.paused);
    text.family("pauses", "counter", "Pauses for which a job left its GPUs.")
        .sample(static_cast<double>(s.pauses));
    text.family("gpus_held", "gauge", "GPUs that malleable jobs hold.").sample(s.gpus_held);
    text.family("gpus_borrowed", "gauge", "GPUs that malleable jobs hold above their MIN.")
        .sample(s.gpus_borrowed);
    text.family("resizes_in_flight", "gauge", "Resizes under way.").sample(s.in_flight);
    text.family("resizes_in_flight_limit", "gauge", "Most resizes under way at once.")
        .sample(diag.options->resizes_in_flight);
}

struct Outcome {
    const char *name, *help;
    uint64_t ResizeCounts::*count;
};

constexpr Outcome kOutcomes[] = {
    {"asked", "Resizes for which a job was signalled.", &ResizeCounts::asked},
    {"done", "Resizes after which the job runs at its new size.", &ResizeCounts::resized},
    {"called_off", "Resizes called off: the job continues at its old size.",
     &ResizeCounts::called_off},
    {"lost", "Jobs that ended during a resize.", &ResizeCounts::lost},
    {"refused", "Updates for a resize that Slurm refused.", &ResizeCounts::refused},
};

void add_resizes(Text &text, const controller::Statistics &s) {
    for (const Outcome &outcome : kOutcomes)
        text.family(std::string("resizes_") + outcome.name, "counter", outcome.help)
            .sample(static_cast<double>(s.resizes.*outcome.count));
    text.family("resizes_by_reason", "counter", "The same counts by the policy's reason.");
    for (const auto &[reason, counts] : s.by_reason)
        for (const Outcome &outcome : kOutcomes)
            text.sample(static_cast<double>(counts.*outcome.count),
                        '{' + label("outcome", outcome.name) + ',' + label("reason", reason) + '}');
    text.family("resizes_called_off_by_cause", "counter", "Resizes called off, by cause.");
    for (const auto &[cause, count] : s.called_off_why)
        text.sample(static_cast<double>(count), one("cause", cause));
    text.family("restart_seconds", "summary",
                "Stop and restart of a resize: from the signal until the job ran again.")
        .sample(static_cast<double>(s.restarts), "", "_count")
        .sample(s.restart_s, "", "_sum");
    text.family("restart_gpu_seconds", "counter",
                "That time multiplied by the GPUs that the job held before: the most that restarts "
                "cost.")
        .sample(s.restart_gpu_s);
}

void add_times(Text &text, const Diag &diag) {
    text.family("pass_seconds", "summary", "Duration of a pass.")
        .sample(static_cast<double>(diag.passes.passes), "", "_count")
        .sample(seconds(diag.passes.total_ms), "", "_sum");
    text.family("pass_longest_seconds", "gauge", "Longest pass since the start.")
        .sample(seconds(diag.passes.worst_ms));
    const auto each = [&](auto visit) {
        for (std::size_t i = 0; i < kCallNames.size(); ++i)
            visit(diag.api->entries()[i], one("call", kCallNames[i]));
    };
    text.family("rpc_seconds", "summary", "Duration of a call to Slurm.");
    each([&](const ApiTimes::Entry &entry, const std::string &call) {
        text.sample(static_cast<double>(entry.calls), call, "_count")
            .sample(seconds(entry.total_ms), call, "_sum");
    });
    text.family("rpc_longest_seconds", "gauge", "Longest call to Slurm since the start.");
    each([&](const ApiTimes::Entry &entry, const std::string &call) {
        text.sample(seconds(entry.worst_ms), call);
    });
    text.family("rpc_failures", "counter", "Calls to Slurm that failed.");
    each([&](const ApiTimes::Entry &entry, const std::string &call) {
        text.sample(static_cast<double>(entry.failed), call);
    });
}

}  // namespace

std::string to_metrics(const Diag &diag, Exposition exposition) {
    Text text(exposition);
    add_account(text, diag);
    add_jobs(text, diag);
    add_resizes(text, *diag.statistics);
    add_times(text, diag);
    return text.done();
}

}  // namespace ringrt::slurm

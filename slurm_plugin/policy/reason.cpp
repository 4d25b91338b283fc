// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/reason.h"

#include <array>
#include <charconv>
#include <cmath>

#include "slurm_plugin/policy/policy.h"
#include "slurm_plugin/policy/value.h"

namespace ringrt::policy {

namespace {

constexpr std::array<std::string_view, 12> kCodes{
    "none",          "at_max",        "best_gain",       "no_gain", "no_capacity", "restart_cost",
    "gave_to_other", "gave_to_rigid", "keeps_for_rigid", "waits",   "paused",      "pinned",
};

std::string number(double value) {
    char text[40];
    const double magnitude = std::abs(value);
    const int digits = magnitude < 10 ? 1 : 0;
    if (!(magnitude < 1e15)) return "very many";
    const auto end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr;
    return {text, end};
}

std::string gpus(int count) { return std::to_string(count) + (count == 1 ? " GPU" : " GPUs"); }

// "2 -> 4 GPUs would save 130 s of 400 s left, a restart costs 12 s"
std::string next_step(const Job &job, int from, int to, const Options &options) {
    Options no_restart = options;
    no_restart.payback = 0;
    const double left = remaining_s(job, from, no_restart);
    const double saved = left - remaining_s(job, to, no_restart);
    const std::string change =
        saved >= 0 ? "would save " + number(saved) : "would lose " + number(-saved);
    return std::to_string(from) + " -> " + gpus(to) + " " + change + " s of " + number(left) +
           " s left" +
           (job.gpus_now > 0 ? ", a restart costs " + number(job.restart_s) + " s" : "") +
           (job.speed.measured ? "" : " (speed assumed, not measured yet)");
}

}  // namespace

std::string_view to_string(Reason reason) { return kCodes[static_cast<std::size_t>(reason)]; }

std::string explain(const Job &job, const Allotment &a, const Options &options) {
    const std::string has = gpus(a.gpus);
    const int next = a.next_gpus > a.gpus ? a.next_gpus : 2 * a.gpus;
    const std::string step = a.gpus > 0 ? next_step(job, a.gpus, next, options) : "";
    switch (a.reason) {
        case Reason::none:
            return has + ": nothing to decide";
        case Reason::at_max:
            return has + ": its MAX; a larger MAX would let it grow";
        case Reason::best_gain:
            return has + ": no other use of these GPUs gains more; " +
                   (2 * a.gpus > job.gpus_max ? "it is its MAX" : step);
        case Reason::no_gain:
            return has + ": more would not make it faster: " + step;
        case Reason::no_capacity:
            return has + ": " + gpus(next) + " do not fit on the free GPUs; " + step;
        case Reason::restart_cost:
            return has + ": the next doubling does not pay back its restart: " + step;
        case Reason::gave_to_other:
            return has + ", down from " + std::to_string(job.gpus_now) +
                   ": another malleable job saves more time with these GPUs";
        case Reason::gave_to_rigid:
            return has + ", down from " + std::to_string(job.gpus_now) +
                   ": rigid jobs need the GPUs above MIN; it grows again when they are free";
        case Reason::keeps_for_rigid:
            return has + ": the free GPUs are kept for rigid jobs; " + step;
        case Reason::waits:
            return "waits: no " + gpus(job.gpus_min) +
                   " (its MIN) are free; a smaller MIN or a higher "
                   "priority would start it sooner";
        case Reason::paused:
            return "paused: other jobs gain more from the GPUs of its MIN, " + gpus(job.gpus_min) +
                   "; it continues when they no longer do";
        case Reason::pinned:
            return has + ": not changed by this decision";
    }
    return has;
}

}  // namespace ringrt::policy

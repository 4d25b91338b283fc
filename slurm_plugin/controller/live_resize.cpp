// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/live_resize.h"

#include <algorithm>
#include <string>
#include <vector>

#include "slurm_plugin/controller/base_shrink.h"
#include "slurm_plugin/controller/text.h"
#include "slurm_plugin/controller/waiting.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt::controller {

namespace {

using Kind = Action::Kind;

std::string name_of(const Extension &extension) {
    return "extension " + std::to_string(extension.record->id);
}

ExtensionAges ages_of(const Extension &extension, const JobTracker &tracker, double now_s) {
    const JobRecord &record = *extension.record;
    ExtensionAges ages{.signalled_s = age_s(tracker.signalled_s, now_s)};
    if (extension.stage == ExtensionStage::pending) ages.in_stage_s = age_s(record.submit_s, now_s);
    if (extension.stage == ExtensionStage::leaving)
        ages.in_stage_s = age_s(record.extension->asked_s, now_s);
    if (extension.stage == ExtensionStage::joining)
        ages.in_stage_s = age_s(tracker.joining_since_s.value_or(now_s), now_s);
    return ages;
}

Action cancel(const MalleableJob &job, const Extension &extension, const char *why) {
    Action action{.kind = Kind::cancel_extension, .intent = job.intent, .poll_fast = true};
    action.extension = extension.record->id;
    action.event = event_of(EventKind::extension, job.intent, job.intent.gpus, job.intent.gpus,
                            name_of(extension) + why);
    return action;
}

Action cancel_late(const MalleableJob &job, const Extension &extension) {
    return cancel(job, extension,
                  extension.stage == ExtensionStage::pending ? " was not started in time: cancelled"
                  : extension.stage == ExtensionStage::joining
                      ? " did not join in time: cancelled"
                      : " did not leave in time: cancelled");
}

// A pending job needs the GPUs of the last extension, which has not joined: no rank misses it. Its
// program may take minutes to start, or may never join.
std::optional<Action> give_up_joining(const MalleableJob &job, const Target &target) {
    const bool is_needed = target.job.id != 0 && !target.job.pinned &&
                           target.allotment.gpus < target.job.gpus_now && !job.extensions.empty();
    if (!is_needed || !is_to_join(job.extensions.back())) return std::nullopt;
    return cancel(job, job.extensions.back(),
                  " has not joined, and another job needs its GPUs: cancelled");
}

// Handles an extension that joins or leaves, the last one first.
Action attend(const MalleableJob &job, const JobTracker &tracker, const PassContext &pass,
              const Options &options) {
    const double grace_s = options.grace_of(job.intent.grace_s);
    for (auto it = job.extensions.rbegin(); it != job.extensions.rend(); ++it) {
        switch (extension_step(it->stage, ages_of(*it, tracker, pass.now_s), grace_s, options)) {
            case ExtensionStep::cancel:
                return cancel_late(job, *it);
            case ExtensionStep::signal_again:
                return {.kind = Kind::signal_extension,
                        .intent = job.intent,
                        .extension = it->record->id,
                        .poll_fast = true};
            case ExtensionStep::wait:
            case ExtensionStep::nothing:
                break;
        }
    }
    return {.poll_fast = true};
}

Action note_size(const MalleableJob &job, const PassContext &pass) {
    Action action{.kind = Kind::note, .intent = job.intent};
    records::Intent &intent = action.intent;
    intent.gpus = job.record->gpus_requested;
    intent.good = 0;  // nothing was restarted
    intent.keep = 0;
    intent.since_s = pass.now_s;
    ++intent.resizes;
    action.event = event_of(EventKind::resized, job.intent, job.intent.gpus, intent.gpus,
                            "resized in place: " + gpus_text(intent.gpus) + " (were " +
                                std::to_string(job.intent.gpus) + ")");
    return action;
}

// The user wants it resized in place, but its ranks have not reported yet whether they can. A
// requeue would stop it needlessly. A program that never reports is requeued after the timeout.
bool awaits_first_report(const MalleableJob &job, const PassContext &pass, const Options &options) {
    constexpr double kFirstReportTimeout_s = 120;
    const std::optional<records::Telemetry> &heard = job.record->telemetry;
    return options.resize == Resize::live && job.intent.live && !job.intent.layout.task_per_node &&
           job.current_telemetry() == nullptr && (!heard || heard->live) &&
           age_s(job.record->start_s, pass.now_s) < kFirstReportTimeout_s;
}

std::string listed(const std::vector<std::string> &each) {
    std::string out;
    for (const std::string &one : each) out += (out.empty() ? "" : ", ") + one;
    return out;
}

// The same number of ranks on each of the nodes that are free for it.
PendingUpdate::Size part_of(const MalleableJob &job, int gpus, const Target &target,
                            std::size_t doubling, const PassContext &pass) {
    PendingUpdate::Size size = size_with(job.intent.layout, gpus, pass, *job.record);
    if (doubling >= target.part_nodes.size()) return size;
    size.nodes = target.part_nodes[doubling];
    return size;
}

// One extension for each doubling, so that each halving removes the last one.
Action extend(const MalleableJob &job, const Target &target, int wanted, const PassContext &pass,
              const Options &options) {
    const int now = job.record->gpus_requested;
    Action action{.kind = Kind::extend, .intent = job.intent, .poll_fast = true};
    action.intent.why = to_string(target.allotment.reason);
    action.place = {options.extension_partition, options.extension_qos};
    int level = job.extensions.empty() ? 1 : job.extensions.back().record->extension->level + 1;
    std::vector<std::string> sizes;
    int gpus = now;
    for (; 2 * gpus <= wanted; gpus *= 2) {
        const PendingUpdate::Size size = part_of(job, gpus, target, action.doublings.size(), pass);
        action.doublings.push_back({level++, size});
        sizes.push_back(std::to_string(gpus));
    }
    action.event =
        event_of(EventKind::extension, action.intent, now, gpus,
                 sizes.size() == 1
                     ? "grows in place: an extension of " + gpus_text(now) + " is submitted"
                     : "grows in place: extensions of " + listed(sizes) + " GPUs are submitted");
    return action;
}

// Dismisses the last extensions, down to `wanted` GPUs or to the base.
Action dismiss(const MalleableJob &job, const Target &target, int wanted, const PassContext &pass) {
    const int now = job.record->gpus_requested;
    Action action{.kind = Kind::dismiss, .intent = job.intent, .poll_fast = true};
    action.intent.why = to_string(target.allotment.reason);
    std::vector<std::string> names;
    int gpus = now;
    for (auto it = job.extensions.rbegin(); it != job.extensions.rend() && gpus > wanted; ++it) {
        records::Extension record = *it->record->extension;
        record.asked_s = pass.now_s;
        action.leaving.push_back({it->record->id, record});
        names.push_back(std::to_string(it->record->id));
        gpus -= it->record->gpus_requested;
    }
    action.event =
        event_of(EventKind::extension, action.intent, now, gpus,
                 names.size() == 1
                     ? "shrinks in place: extension " + names[0] + " is signalled to leave"
                     : "shrinks in place: extensions " + listed(names) + " are signalled to leave");
    return action;
}

}  // namespace

std::optional<Action> next_live_action(const MalleableJob &job, const Target &target,
                                       const JobTracker &tracker, const PassContext &pass,
                                       const Options &options) {
    const bool awaits_report = awaits_first_report(job, pass, options);
    if (!job.is_live && !awaits_report && job.extensions.empty() &&
        job.intent.gpus == job.record->gpus_requested)
        return std::nullopt;
    if (is_changing(job)) {
        if (auto action = give_up_joining(job, target)) return *action;
        return attend(job, tracker, pass, options);
    }
    if (auto action = next_base_action(job, tracker, pass, options)) return action;
    const int now = job.record->gpus_requested;
    const bool was_extended = job.intent.gpus != now && (job.is_live || !job.extensions.empty());
    if (was_extended) return note_size(job, pass);
    // The GPUs left after a loss in the middle of the stack are no size of the ladder.
    const bool is_odd = !job.extensions.empty() &&
                        !records::on_ladder({job.intent.gpus_min, job.intent.gpus_max}, now);
    if (is_odd) return dismiss(job, target, now - 1, pass);
    if (target.job.id == 0 || target.job.pinned || target.allotment.gpus == now)
        return std::nullopt;
    const int wanted = target.allotment.gpus;
    const bool below_base = wanted < now && job.extensions.empty();
    if (below_base && !can_shrink_base(job, wanted, tracker, pass)) return std::nullopt;  // requeue
    if (wanted > now && awaits_report) return Action{};
    if (wanted > now && !job.is_live) return std::nullopt;
    if (!pass.may_ask) return Action{};
    if (below_base) return shrink_base(job, target, pass);
    if (wanted < now) return dismiss(job, target, wanted, pass);
    const int possible = std::min(wanted, target.placeable_gpus);
    const bool may_grow = possible >= 2 * now && !tracker.growth.holds(pass.now_s);
    return may_grow ? extend(job, target, possible, pass, options) : Action{};
}

}  // namespace ringrt::controller

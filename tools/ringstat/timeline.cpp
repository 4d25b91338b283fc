// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/timeline.h"

#include <algorithm>
#include <map>
#include <set>

namespace ringrt::ringstat {
namespace {

constexpr std::size_t kEndBytesMax = 80;

// The log is written for people, so a line may be missing: the next event makes up for it.
class LaneBuilder {
  public:
    explicit LaneBuilder(uint32_t id) { lane_.id = id; }

    void take(const PastEvent &event) {
        if (!event.name.empty()) lane_.name = event.name, lane_.user_id = event.user_id;
        if (!event.task.empty()) lane_.task = event.task;
        const std::string &kind = event.event;
        if (kind == "resized") ++lane_.resizes;
        if (kind == "released" || kind == "downsized" || kind == "requeued" ||
            kind == "launch_failed") {
            if (kind == "requeued" && fresh()) continue_with(first_s_, event.from, "");
            continue_with(event.time_s, 0, "");
        } else if (kind == "started" || kind == "resized") {
            continue_with(event.time_s, event.to, event.reason);
        } else if (kind == "ended" || kind == "lost") {
            if (!fresh()) lane_.phases.back().end_s = event.time_s;
            lane_.end = event.text.substr(0, kEndBytesMax);
            over_ = true;
        } else if ((kind == "asked" || kind == "called_off") && fresh() && event.from > 0) {
            continue_with(first_s_, event.from, "");  // it has run since before the log's start
        }
    }

    void set_first(double first_s) { first_s_ = first_s; }

    JobLane finish(double end_s) {
        if (!fresh() && !over_) lane_.phases.back().end_s = end_s;
        return std::move(lane_);
    }

  private:
    [[nodiscard]] bool fresh() const { return lane_.phases.empty(); }

    void continue_with(double time_s, int gpus, const std::string &reason) {
        if (over_) lane_.end.clear();  // requeued after its end
        const bool same = !fresh() && !over_ && lane_.phases.back().gpus == gpus;
        if (same) return;
        if (!fresh() && !over_) lane_.phases.back().end_s = time_s;
        over_ = false;
        lane_.phases.push_back({time_s, time_s, gpus, reason});
    }

    JobLane lane_;
    double first_s_ = 0;
    bool over_ = false;
};

void cut(JobLane &lane, double start_s, double end_s) {
    for (Phase &phase : lane.phases) {
        phase.start_s = std::max(phase.start_s, start_s);
        phase.end_s = std::min(phase.end_s, end_s);
    }
    std::erase_if(lane.phases, [](const Phase &phase) { return phase.end_s <= phase.start_s; });
}

}  // namespace

Timeline make_timeline(std::span<const PastEvent> events, double start_s, double end_s) {
    Timeline out{.start_s = start_s, .end_s = end_s};
    std::map<uint32_t, std::size_t> index;
    std::vector<LaneBuilder> builders;
    for (const PastEvent &event : events) {
        if (event.job == 0) continue;
        const auto [found, is_new] = index.try_emplace(event.job, builders.size());
        if (is_new) {
            builders.emplace_back(event.job);
            builders.back().set_first(events.front().time_s);
        }
        builders[found->second].take(event);
    }
    for (LaneBuilder &builder : builders) {
        JobLane lane = builder.finish(end_s);
        cut(lane, start_s, end_s);
        if (!lane.phases.empty()) out.lanes.push_back(std::move(lane));
    }
    return out;
}

void start_at_first(Timeline &timeline) {
    double first_s = timeline.end_s;
    for (const JobLane &lane : timeline.lanes)
        first_s = std::min(first_s, lane.phases.front().start_s);
    timeline.start_s = first_s;
}

int gpus_at(const JobLane &lane, double time_s) {
    for (const Phase &phase : lane.phases)
        if (phase.start_s <= time_s && time_s < phase.end_s) return phase.gpus;
    return -1;
}

std::vector<int> sizes_of(const Timeline &timeline) {
    std::set<int> sizes;
    for (const JobLane &lane : timeline.lanes)
        for (const Phase &phase : lane.phases)
            if (phase.gpus > 0) sizes.insert(phase.gpus);
    return {sizes.begin(), sizes.end()};
}

}  // namespace ringrt::ringstat

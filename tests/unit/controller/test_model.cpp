// SPDX-License-Identifier: BSD-3-Clause
// Explores the state machine. A small scenario with a shrink and a growth, and another one with a
// pause, are played on the real controller with every event at every moment at which something
// changed, and with pairs of events. Each run must end with all jobs done, no step lost and no rule
// broken. `make check` plays every 16th pair; RINGRT_MODEL_STRIDE=1 plays all 50,000 of each
// scenario, and RINGRT_MODEL_DEPTH=3 adds triples.
//
// Moments are numbered along a run: each time that the first job's state in Slurm or in its record
// changed or the controller called Slurm, and (RINGRT_MODEL_FINE=1) 1 and 3 s after that. A list of
// (moment, event) pairs identifies a run, so a failure is replayed from its name:
// RINGRT_MODEL_RUN=12:kill3,14:hold, with RINGRT_MODEL_PAUSE=1 in the scenario with a pause.
#include <cstdlib>
#include <string>

#include "tests/support/check.h"
#include "tests/support/perturbations.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;

namespace {

int setting(const char *name, int otherwise) {
    const char *text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
}

struct Choice {
    int moment = 0;
    std::size_t perturbation = 0;
};

std::string name_of(const std::vector<Choice> &choices) {
    std::string name;
    for (const Choice &c : choices)
        name += (name.empty() ? "" : ",") + std::to_string(c.moment) + ":" +
                kPerturbations[c.perturbation].name;
    return name.empty() ? "nothing" : name;
}

// A moment is a change of this text.
std::string signature(const FakeCluster &cluster, uint32_t id) {
    const auto intent = cluster.intent(id);
    return std::to_string(static_cast<int>(cluster.job(id).phase)) + "/" +
           std::to_string(static_cast<int>(intent.state)) + "/" + std::to_string(intent.target) +
           "/" + std::to_string(cluster.job(id).gpus_requested) + "/" +
           std::to_string(cluster.calls);
}

enum class Scenario { shrinks, pauses };

// Plays one run: the first job shrinks or pauses for a second one, which ends, and grows again.
// Returns the run's number of moments.
int play(Scenario scenario, const std::vector<Choice> &choices) {
    const bool pauses = scenario == Scenario::pauses;
    World world({4, 4}, pauses ? pausing_options() : quick_options());
    FakeCluster &cluster = world.cluster;
    cluster.may_pause = pauses;
    const uint32_t id =
        cluster.submit_malleable(1, 8, {.steps = 180, .save_s = 0.25, .telemetry_s = 1});
    std::vector<std::pair<double, const Perturbation *>> ends;
    std::string last;
    std::size_t next = 0;
    int moment = 0, quiet_ticks = 0;
    bool second = false;
    const bool fine = setting("RINGRT_MODEL_FINE", 0) != 0;
    const double start_s = cluster.now_s();
    while (cluster.now_s() < start_s + 1500 && !(second && cluster.is_over())) {
        world.tick();
        if (!second && cluster.now_s() >= start_s + 8) {
            cluster.submit_malleable(1, pauses ? 8 : 4,
                                     {.steps = 40, .save_s = 0.25, .telemetry_s = 1});
            second = true;
        }
        for (auto &[end_s, perturbation] : ends)
            if (perturbation && cluster.now_s() >= end_s) {
                perturbation->end(world, id);
                perturbation = nullptr;
            }
        std::string now = signature(cluster, id);
        quiet_ticks = now == last ? quiet_ticks + 1 : 0;
        last = std::move(now);
        if (quiet_ticks != 0 && !(fine && (quiet_ticks == 4 || quiet_ticks == 12))) continue;
        for (; next < choices.size() && choices[next].moment == moment; ++next) {
            const Perturbation &perturbation = kPerturbations[choices[next].perturbation];
            perturbation.begin(world, id);
            if (perturbation.end)
                ends.push_back({cluster.now_s() + perturbation.lasts_s, &perturbation});
        }
        ++moment;
    }
    const std::string name = (pauses ? "pauses: " : "shrinks: ") + name_of(choices);
    ck_assert_msg(cluster.is_over(), "%s: not all jobs finished\n%s", name.c_str(),
                  cluster.story().c_str());
    expect_sound(world, name.c_str());
    ck_assert_msg(cluster.lost_steps(id) == 0, "%s: steps lost\n%s", name.c_str(),
                  cluster.story().c_str());
    return moment;
}

// Plays all continuations of `choices` by up to `depth` more; of the longest ones only every
// stride-th. `runs` counts the played ones.
void explore(Scenario scenario, std::vector<Choice> &choices, int depth, int stride, long &skipped,
             long &runs) {
    if (depth == 0 && ++skipped % stride != 0 && choices.size() > 1) return;
    const int moments = play(scenario, choices);
    ++runs;
    if (depth == 0) return;
    const int first = choices.empty() ? 0 : choices.back().moment;
    for (int moment = first; moment < moments; ++moment)
        for (std::size_t perturbation = 0; perturbation < std::size(kPerturbations);
             ++perturbation) {
            if (!kPerturbations[perturbation].in_model) continue;
            choices.push_back({moment, perturbation});
            explore(scenario, choices, depth - 1, stride, skipped, runs);
            choices.pop_back();
        }
}

void explore_all(Scenario scenario) {
    std::vector<Choice> none;
    long skipped = 0, runs = 0;
    explore(scenario, none, setting("RINGRT_MODEL_DEPTH", 2),
            std::max(1, setting("RINGRT_MODEL_STRIDE", 16)), skipped, runs);
    printf("%ld runs\n", runs);
    ck_assert(runs > 100);
}

}  // namespace

TEST(every_happening_at_every_moment) { explore_all(Scenario::shrinks); }

TEST(every_happening_at_every_moment_with_a_pause) { explore_all(Scenario::pauses); }

TEST(one_named_run) {
    const char *given = std::getenv("RINGRT_MODEL_RUN");
    std::vector<Choice> choices;
    for (std::string text = given ? given : ""; !text.empty();) {
        const std::string part = text.substr(0, text.find(','));
        text.erase(0, part.size() + 1);
        const std::string name = part.substr(part.find(':') + 1);
        for (std::size_t h = 0; h < std::size(kPerturbations); ++h)
            if (name == kPerturbations[h].name) choices.push_back({std::atoi(part.c_str()), h});
    }
    const bool pauses = setting("RINGRT_MODEL_PAUSE", 0) != 0;
    ck_assert(play(pauses ? Scenario::pauses : Scenario::shrinks, choices) > 10);
}

int main() { return ringrt::test::run_all("model", 3000); }

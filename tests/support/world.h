// SPDX-License-Identifier: BSD-3-Clause
// A fake cluster with a controller that watches it, and the expectations of every test of the two.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "slurm_plugin/controller/controller.h"
#include "tests/support/check.h"
#include "tests/support/fake_cluster.h"

namespace ringrt::test {

inline controller::Options quick_options() {
    controller::Options options;
    options.mode = controller::Mode::act;
    options.settle_s = 5;
    options.min_resize_interval_s = 10;
    options.back_off_s = 10;
    options.interval_s = 2;
    options.restart_s = 4;
    return options;
}

// With the policy of last_first.cpp, which pauses every job for the newest.
inline controller::Options pausing_options() {
    controller::Options options = quick_options();
    options.policy = "last-first";
    options.pause = controller::Pausing::all;
    options.min_resize_interval_s = 1;
    return options;
}

// A cluster and its controller. kill() also clears the controller's memory.
struct World {
    explicit World(std::vector<int> nodes, controller::Options o = quick_options(),
                   uint64_t seed = 1)
        : cluster(std::move(nodes), seed), options(std::move(o)) {
        cluster.resizes_in_flight_most = options.resizes_in_flight;
        restart();
    }

    // Processes of an old run get 20 s to end after a controller starts or their node returns.
    void restart() {
        excuse(20);
        controller = std::make_unique<controller::Controller>(cluster, cluster, options);
        std::string journal;
        for (const controller::Event &event : cluster.events)
            journal += controller::journal_line(event) + "\n";
        controller->restore(controller::read_journal(journal));
    }
    void return_node(int node) {
        excuse(20);
        cluster.lose_node(node, true);
    }
    void excuse(double seconds) {
        for (auto &[id, since_s] : waiting_s) since_s += seconds;
    }

    void kill(double lost_s) {
        cluster.kill(lost_s);
        restart();
        next_s = cluster.now_s() + 1;
    }

    void tick() {
        cluster.advance(FakeCluster::kTick_s);
        watch_waiting();
        if (cluster.now_s() < next_s) return;
        next_s = controller->pass(cluster.now_s() + clock_ahead_s) - clock_ahead_s;
        ++passes;
        if (next_s <= cluster.now_s())
            cluster.violations.push_back("a pass wants to be called at once");
    }

    // The controller makes no pass for this long.
    void go_away(double seconds) { next_s = away_until_s = cluster.now_s() + seconds; }

    // A job that could start, or that ended unnoticed, runs again within a minute (I12), not
    // counting the time while the controller is away.
    void watch_waiting() {
        if (cluster.now_s() <= away_until_s) excuse(FakeCluster::kTick_s);
        std::vector<uint32_t> idle = cluster.malleable_that_could_start();
        const std::vector<uint32_t> gone = cluster.gone();
        idle.insert(idle.end(), gone.begin(), gone.end());
        for (const uint32_t id : idle)
            if (waiting_s.try_emplace(id, cluster.now_s()); cluster.now_s() - waiting_s[id] == 60)
                cluster.violations.push_back("job " + std::to_string(id) +
                                             " could run, and waits a minute");
        std::erase_if(waiting_s, [&](const auto &entry) {
            return std::find(idle.begin(), idle.end(), entry.first) == idle.end();
        });
    }

    void run(double seconds) {
        for (const double end = cluster.now_s() + seconds; cluster.now_s() < end;) tick();
    }

    // Seconds until `condition`, -1 if it does not hold within `most_s`.
    double run_until(const std::function<bool()> &condition, double most_s) {
        const double start = cluster.now_s();
        while (cluster.now_s() < start + most_s) {
            if (condition()) return cluster.now_s() - start;
            tick();
        }
        return condition() ? most_s : -1;
    }

    FakeCluster cluster;
    double clock_ahead_s = 0;  // slurmctld's clock, for a controller on another host
    controller::Options options;
    std::unique_ptr<controller::Controller> controller;
    double next_s = 0;
    int passes = 0;
    std::map<uint32_t, double> waiting_s;
    double away_until_s = 0;
};

inline void expect_sound(const World &world, const char *where) {
    ck_assert_msg(world.cluster.violations.empty(), "%s\n%s", where, world.cluster.story().c_str());
    ck_assert_msg(world.controller->statistics().exceptions == 0, "%s: a pass threw", where);
}

inline void expect_all_finish(World &world, double most_s, const char *where) {
    const double took = world.run_until([&] { return world.cluster.is_over(); }, most_s);
    ck_assert_msg(took >= 0, "%s: not all jobs finished\n%s", where, world.cluster.story().c_str());
    expect_sound(world, where);
}

}  // namespace ringrt::test

// SPDX-License-Identifier: BSD-3-Clause
// Scenarios in YAML: what is refused and how, and that the plugin's own loop loses no job in
// virtual time.
#include <cmath>
#include <random>

#include "sim/slurm/scenario.h"
#include "sim/slurm/sim_cluster.h"
#include "sim/workload/csv.h"
#include "slurm_plugin/controller/controller.h"
#include "tests/support/check.h"

using namespace ringrt;
using namespace ringrt::sim;

namespace {

std::string refusal(const std::string &text) {
    try {
        (void)parse_scenario({"s.yaml", text});
    } catch (const InputError &error) {
        return error.what();
    }
    return "accepted";
}

std::string with_job(const std::string &job) { return "jobs:\n  - {" + job + "}\n"; }

struct Log final : controller::EventSink {
    void write(const controller::Event &event) override { events.push_back(event); }
    std::vector<controller::Event> events;
};

}  // namespace

TEST(scenarios_report_line_and_valid_values) {
    EXPECT_TEXT(refusal(""), "s.yaml:1: scenario: needs \"jobs\"");
    EXPECT_TEXT(refusal("jobs: []\n"), "s.yaml:1: jobs: expected at least one");
    EXPECT_TEXT(refusal("a: &x 1\n"),
                "s.yaml:1: expected a plain value, got an alias, anchor or tag");
    EXPECT_TEXT(refusal("jobs: *x\n"),
                "s.yaml:1: expected a plain value, got an alias, anchor or tag");
    EXPECT_TEXT(refusal("seed: 1\nseed: 2\n"), "s.yaml:2: key \"seed\" is given a second time");
    EXPECT_TEXT(refusal(with_job("id: a, max: 4, steps: 5, step_ms: .nan")),
                "s.yaml:2: step_ms: expected a number in 0.001..1000000000, got \".nan\"");
    EXPECT_TEXT(refusal(with_job("id: a, max: 4, steps: 5, step_ms: nan")),
                "s.yaml:2: step_ms: expected a number in 0.001..1000000000, got \"nan\"");
    EXPECT_TEXT(refusal(with_job("id: a, submit_s: -1, max: 4, steps: 5, step_ms: 1")),
                "s.yaml:2: submit_s: expected a number in 0..1000000000, got \"-1\"");
    EXPECT_TEXT(
        refusal(with_job("id: a, gpus: 1, seconds: 5") + "  - {id: a, gpus: 1, seconds: 5}\n"),
        "s.yaml:3: id: job \"a\" is already in line 2");
    EXPECT_TEXT(refusal(with_job("id: a, gpus: 65, seconds: 5")),
                "s.yaml:2: gpus: expected a number in 1..64, got \"65\"");
    EXPECT_TEXT(refusal("---\njobs: 1\n--- \njobs: 2\n"), "s.yaml:3: expected one document");
    ck_assert(
        refusal("policies: [lottery]\n").starts_with("s.yaml:1: policy \"lottery\" is not known"));
    ck_assert(refusal("controller: {interval_s: -3}\n").starts_with("s.yaml:1: controller: "));
    ck_assert(refusal("controller: {a\t\tb: -3}\n").find('\t') == std::string::npos);
    ck_assert(refusal("controller: {a\t\tb: [1]}\n").find('\t') == std::string::npos);
    ck_assert(refusal("job: 1\n").starts_with("s.yaml:1: scenario: unknown key \"job\""));
}

// F44: libyaml takes quadratic time over brackets, so most of such a file never reaches it.
TEST(bombs_are_refused) {
    EXPECT_TEXT(refusal(std::string(2'000'000, '[')), "s.yaml:1: nested too deep (limit 16)");
    EXPECT_TEXT(refusal(std::string(2'000'000, '{')), "s.yaml:1: nested too deep (limit 16)");
    EXPECT_TEXT(refusal("jobs: " + std::string(500'000, '[')),
                "s.yaml:1: nested too deep (limit 16)");
    EXPECT_TEXT(refusal("seed: " + std::string(2'000'000, 'x')),
                "s.yaml:1: longer than 1048576 bytes");
    std::string dashes;
    for (int i = 0; i < 200'000; ++i) dashes += "- ";
    EXPECT_TEXT(refusal(dashes + "1"), "s.yaml:1: nested too deep (limit 16)");
    std::string many = "jobs:\n";
    for (int i = 0; i < 301'000; ++i) many += "- \n";
    ck_assert(refusal(many).find("more than 50000 values") != std::string::npos);
}

TEST(damaged_scenarios_never_crash) {
    const std::string good =
        "cluster: {nodes: 2, gpus_per_node: 4}\npolicies: [fifo, doubling]\nseed: 3\njobs:\n"
        "  - {id: a, submit_s: 1, min: 1, max: 8, steps: 100, step_ms: {1: 10, 8: 2}}\n"
        "  - {id: b, gpus: 4, seconds: 100, limit_s: 500}\n";
    ck_assert_uint_eq(parse_scenario({"s.yaml", good}).workload.jobs.size(), 2);
    std::mt19937_64 random(1);
    for (int round = 0; round < 20000; ++round) {
        std::string text = good;
        for (int i = static_cast<int>(random() % 4); i >= 0; --i) {
            const std::size_t at = random() % text.size();
            if (random() % 3 == 0)
                text.erase(at, random() % 20);
            else
                text[at] = static_cast<char>(random() % 4 ? " \n:{}[],-1a&*!|>'\"#%"[random() % 21]
                                                          : static_cast<char>(random()));
        }
        (void)refusal(text);
    }
}

// The plugin's loop and its state machine against the virtual Slurm: every job ends, no GPU is
// given twice, and each requested resize completes.
TEST(the_controller_brings_every_job_to_its_end) {
    std::mt19937_64 random(2);
    uint64_t asked = 0;
    for (int round = 0; round < 12; ++round) {
        std::string text =
            "cluster: {nodes: 4, gpus_per_node: 4}\n"
            "controller: {interval_s: 2, settle_s: 2, min_resize_interval_s: 5}\njobs:\n";
        for (int i = 0; i < 10; ++i) {
            const std::string id = "j" + std::to_string(i);
            const std::string submit = std::to_string(random() % 200);
            if (random() % 4 == 0)
                text += "  - {id: " + id + ", submit_s: " + submit +
                        ", gpus: " + std::to_string(1 + random() % 4) + ", seconds: 40}\n";
            else
                text += "  - {id: " + id + ", submit_s: " + submit +
                        ", min: 1, max: " + std::to_string(1 << (1 + random() % 4)) +
                        ", steps: " + std::to_string(100 + random() % 400) +
                        ", step_ms: 500, telemetry_s: 3}\n";
        }
        const Scenario scenario = parse_scenario({"s.yaml", text});
        SimCluster cluster(scenario.site());
        Log log;
        controller::Controller controller(cluster, log, scenario.controller);
        double next_s = 0;
        while (!cluster.is_over()) {
            cluster.advance_to(
                std::min(cluster.next_event_s(), std::max(next_s, cluster.now_s() + kTick_s)));
            ck_assert_msg(cluster.now_s() < SimCluster::kStart_s + 20000, "round %d:\n%s", round,
                          text.c_str());
            if (cluster.now_s() < next_s) continue;
            next_s = controller.pass(cluster.now_s());
            controller::Observation seen;
            (void)cluster.observe(seen);
            std::vector<int> used(4, 0);
            for (const controller::JobRecord &job : seen.jobs)
                for (const auto &[node, gpus] : job.gpus_on_node) used[std::size_t(node)] += gpus;
            for (const int gpus : used) ck_assert_int_le(gpus, 4);
        }
        const controller::ResizeCounts &seen = controller.statistics().resizes;
        ck_assert_uint_eq(controller.statistics().exceptions + seen.refused + seen.called_off, 0);
        ck_assert_uint_le(seen.resized, seen.asked);
        asked += seen.asked;
    }
    ck_assert_uint_ge(asked, 24);
}

int main() { return ringrt::test::run_all("scenario"); }

// SPDX-License-Identifier: BSD-3-Clause
#include "sim/slurm/scenario.h"

#include <algorithm>
#include <bit>
#include <map>

#include "model/speed.h"
#include "sim/engine/policy_spec.h"
#include "sim/slurm/yaml_tree.h"
#include "sim/workload/csv.h"

namespace ringrt::sim {
namespace {

constexpr double kSecondsMax = 1e9;
constexpr std::size_t kJobsMax = 100'000;
const std::vector<std::string_view> kKeys{"name",     "cluster",    "policies", "restart_s",
                                          "start_s",  "interval_s", "payback",  "seed",
                                          "wrong_by", "controller", "jobs"};
const std::vector<std::string_view> kClusterKeys{"nodes", "gpus_per_node"};
const std::vector<std::string_view> kJobKeys{
    "id",     "submit_s",    "min",     "max",         "asked",    "gpus",
    "steps",  "step_ms",     "limit_s", "priority",    "weight",   "up_s",
    "save_s", "telemetry_s", "seconds", "application", "restart_s"};

// Reads an optional key; `out` keeps its default otherwise.
void read(const YamlNode &map, const char *key, double &out, double low, double high) {
    if (const YamlNode *node = map.find(key)) out = node->number(key, low, high);
}
void read(const YamlNode &map, const char *key, int &out, int low, int high) {
    if (const YamlNode *node = map.find(key)) out = node->integer(key, low, high);
}

// "step_ms: 500" on one GPU, of which 90 % shrinks with more, or "step_ms: {1: 500, 4: 150}".
void read_curve(const YamlNode &node, int gpus_max, std::vector<int> &sizes,
                std::vector<double> &step_s) {
    if (node.kind == YamlNode::Kind::scalar) {
        const auto model = model::default_speed_model(node.number("step_ms", 1e-3, 1e9));
        for (int gpus = 1; gpus <= gpus_max; ++gpus) {
            sizes.push_back(gpus);
            step_s.push_back(model.step_ms(gpus) / 1000);
        }
        return;
    }
    std::map<int, double> curve;
    for (const auto &[key, value] : node.entries("step_ms")) {
        const auto gpus = parse_number(key);
        if (!gpus || *gpus < 1 || *gpus > 65536 || *gpus != static_cast<int>(*gpus))
            value.fail("step_ms: expected GPUs: milliseconds, got \"" + printable(key) + "\"");
        curve[static_cast<int>(*gpus)] = value.number("step_ms", 1e-3, 1e9) / 1000;
    }
    if (curve.empty()) node.fail("step_ms: expected GPUs: milliseconds, got nothing");
    for (const auto &[gpus, seconds] : curve) {
        sizes.push_back(gpus);
        step_s.push_back(seconds);
    }
}

void read_sizes(const YamlNode &node, int cluster_gpus, JobSpec &job) {
    if (const YamlNode *rigid = node.find("gpus")) {
        if (node.find("min") || node.find("max"))
            rigid->fail("gpus: only for a rigid job; a malleable one has min and max");
        job.gpus_min = job.gpus_max = job.gpus_asked = rigid->integer("gpus", 1, cluster_gpus);
    } else {
        job.gpus_min = 1;
        read(node, "min", job.gpus_min, 1, cluster_gpus);
        job.gpus_max = node.at("max", "job").integer("max", job.gpus_min, cluster_gpus);
        job.gpus_asked = job.gpus_max;
        read(node, "asked", job.gpus_asked, job.gpus_min, job.gpus_max);
    }
    job.gpus_limit = job.gpus_max;
}

void read_work(const YamlNode &node, JobSpec &job) {
    std::vector<int> sizes;
    std::vector<double> step_s;
    double steps = 0;
    if (const YamlNode *seconds = node.find("seconds")) {
        if (node.find("steps"))
            seconds->fail("seconds: replaces steps and step_ms, give one of them");
        sizes = {1};
        step_s = {1};
        steps = seconds->number("seconds", 1e-3, kSecondsMax);
    } else {
        steps = node.at("steps", "job").number("steps", 1, 1e12);
        read_curve(node.at("step_ms", "job"), job.gpus_max, sizes, step_s);
    }
    set_curve(job, curve_profile(job.name, std::move(sizes), std::move(step_s), steps));
}

JobSpec read_job(const YamlNode &node, int cluster_gpus, ProgramSpec &program) {
    (void)node.entries("job", kJobKeys);
    JobSpec job;
    job.name = printable(node.at("id", "job").text("id"));
    job.application = job.name;
    if (const YamlNode *name = node.find("application"))
        job.application = printable(name->text("application"));
    read(node, "submit_s", job.submit_s, 0, kSecondsMax);
    read(node, "limit_s", job.limit_s, 1, kSecondsMax);
    read(node, "priority", job.priority, 0, 1e9);
    read(node, "restart_s", job.restart_s, 0, 86400);
    read(node, "weight", job.weight, 1e-6, 1e6);
    read(node, "up_s", program.up_s, 0, kSecondsMax);
    read(node, "save_s", program.save_s, 0, kSecondsMax);
    read(node, "telemetry_s", program.telemetry_s, 0, kSecondsMax);
    read_sizes(node, cluster_gpus, job);
    read_work(node, job);
    return job;
}

void read_jobs(const YamlNode &list, Scenario &scenario) {
    const int gpus = scenario.sim.nodes * scenario.sim.gpus_per_node;
    std::map<std::string, std::size_t> lines;
    std::vector<std::pair<JobSpec, ProgramSpec>> jobs;
    for (const YamlNode &node : list.items("jobs")) {
        if (jobs.size() == kJobsMax)
            node.fail("jobs: more than " + std::to_string(kJobsMax) + " of them");
        ProgramSpec program;
        JobSpec job = read_job(node, gpus, program);
        const auto [first, is_new] = lines.emplace(job.name, node.line);
        if (!is_new)
            node.fail("id: job \"" + job.name + "\" is already in line " +
                      std::to_string(first->second));
        jobs.emplace_back(std::move(job), program);
    }
    if (jobs.empty()) list.fail("jobs: expected at least one");
    std::stable_sort(jobs.begin(), jobs.end(), [](const auto &a, const auto &b) {
        return a.first.submit_s < b.first.submit_s;
    });
    for (auto &[job, program] : jobs) {
        scenario.workload.jobs.push_back(std::move(job));
        scenario.programs.push_back(program);
    }
}

void read_policies(const YamlNode &node, Scenario &scenario) {
    for (const YamlNode &item : node.items("policies")) {
        const std::string &name = item.text("policies");
        try {
            scenario.policies.push_back(parse_policy(name));
        } catch (const InputError &error) {
            item.fail(error.what());
        }
    }
}

void read_controller(const YamlNode &node, controller::Options &options) {
    for (const auto &[key, value] : node.entries("controller"))
        if (const auto error = controller::set_parameter(options, key, value.text(printable(key))))
            value.fail("controller: " + printable(*error));
}

void read_options(const YamlNode &root, Scenario &scenario) {
    SimOptions &sim = scenario.sim;
    if (const YamlNode *cluster = root.find("cluster")) {
        (void)cluster->entries("cluster", kClusterKeys);
        read(*cluster, "nodes", sim.nodes, 1, 100'000);
        read(*cluster, "gpus_per_node", sim.gpus_per_node, 1, 64);
    }
    read(root, "restart_s", sim.restart_s, 0, 86400);
    sim.start_s = std::min(sim.restart_s, 30.0);
    read(root, "start_s", sim.start_s, 0, 86400);
    read(root, "interval_s", sim.interval_s, 0, 86400);
    read(root, "payback", scenario.payback, 0, 1000);
    read(root, "wrong_by", sim.wrong_by, 0, 0.95);
    int seed = 1;
    read(root, "seed", seed, 0, 2'000'000'000);
    sim.seed = static_cast<uint64_t>(seed);
    if (const YamlNode *policies = root.find("policies")) read_policies(*policies, scenario);
    if (scenario.policies.empty())
        scenario.policies = {parse_policy("fifo"), parse_policy("doubling")};
    if (const YamlNode *node = root.find("controller")) read_controller(*node, scenario.controller);
}

}  // namespace

Scenario parse_scenario(const TextFile &file) {
    const YamlNode root = parse_yaml(file.text, file.path);
    (void)root.entries("scenario", kKeys);
    Scenario scenario;
    scenario.workload.name = stem(file.path);
    if (const YamlNode *name = root.find("name"))
        scenario.workload.name = printable(name->text("name"));
    read_options(root, scenario);
    read_jobs(root.at("jobs", "scenario"), scenario);
    return scenario;
}

Scenario read_scenario(const std::string &path) { return parse_scenario(read_file(path)); }

}  // namespace ringrt::sim

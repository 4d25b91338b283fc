// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringsim/report.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "sim/engine/policy_spec.h"
#include "sim/workload/csv.h"
#include "tools/ringsim/verdict.h"

namespace ringrt::sim {
namespace {

// Nearest rank: the smallest value with at least `part` of all at or below it.
double percentile(const std::vector<double> &sorted, double part) {
    const auto rank = static_cast<std::size_t>(std::ceil(part * double(sorted.size())));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

double median(const std::vector<double> &sorted) {
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double rounded(double value, int digits) {
    const double scale = std::pow(10, digits);
    return std::round(value * scale) / scale;
}

}  // namespace

Summary summarise(const Workload &workload, const RunResult &run, const SimOptions &options) {
    Summary out{.workload = run.workload, .policy = run.policy};
    std::vector<double> jct;
    double gpu_s = 0, restarts = 0, sum = 0;
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
        const JobResult &job = run.jobs[i];
        if (job.finish_s < 0) continue;
        jct.push_back(job.finish_s - workload.jobs[i].submit_s);
        sum += jct.back();
        gpu_s += job.gpu_s;
        restarts += job.restarts;
        out.lost_gpu_s += job.lost_gpu_s;
        out.worst_fairness = std::max(out.worst_fairness, job.fairness);
    }
    out.jobs = jct.size();
    out.unfinished = run.jobs.size() - jct.size();
    out.decide_ms_max = run.decide_ms_max;
    out.wall_s = run.wall_s;
    out.graded = run.graded;
    out.mean_gap = run.graded > 0 ? run.gap_sum / double(run.graded) : 0;
    out.worst_gap = run.gap_max;
    if (jct.empty()) return out;
    std::sort(jct.begin(), jct.end());
    out.mean_jct_s = sum / double(jct.size());
    out.median_jct_s = median(jct);
    out.p99_jct_s = percentile(jct, 0.99);
    out.makespan_s = run.makespan_s - workload.jobs.front().submit_s;
    out.gpu_hours = gpu_s / 3600;
    out.utilisation = gpu_s / (out.makespan_s * options.total_gpus());
    out.restarts_per_job = restarts / double(jct.size());
    return out;
}

std::string table(std::span<const Summary> runs) {
    std::size_t workload = 8, policy = 6;
    for (const Summary &run : runs) {
        workload = std::max(workload, run.workload.size());
        policy = std::max(policy, run.policy.size());
    }
    char line[512];
    std::string out, words;
    std::snprintf(line, sizeof line,
                  "%-*.64s  %-*.64s  %-9s %6s %9s %9s %9s %9s %9s %5s %8s %9s %7s\n", int(workload),
                  "workload", int(policy), "policy", "knows", "jobs", "mean s", "p99 s", "median s",
                  "makespan", "GPU hours", "held", "restarts", "lost GPUh", "unfair");
    out += line;
    for (const Summary &run : runs) {
        std::snprintf(line, sizeof line,
                      "%-*.64s  %-*.64s  %-9.9s %6zu %9.0f %9.0f %9.0f %9.0f %9.0f %4.0f%% %8.2f "
                      "%9.1f %7.2f\n",
                      int(workload), run.workload.c_str(), int(policy), run.policy.c_str(),
                      std::string(run.knows).c_str(), run.jobs, run.mean_jct_s, run.p99_jct_s,
                      run.median_jct_s, run.makespan_s, run.gpu_hours, 100 * run.utilisation,
                      run.restarts_per_job, run.lost_gpu_s / 3600, run.worst_fairness);
        out += line;
        const std::string word = "  knows " + std::string(run.knows) + ": " +
                                 std::string(knowledge_description(run.knows)) + "\n";
        if (!run.knows.empty() && words.find(word) == words.npos) words += word;
        if (run.graded > 0) {
            std::snprintf(line, sizeof line,
                          "%*s  %zu decisions against the exact optimum: mean gap %.2f %%, worst "
                          "%.2f %%\n",
                          int(workload), "", run.graded, 100 * run.mean_gap, 100 * run.worst_gap);
            out += line;
        }
        if (run.unfinished == 0) continue;
        std::snprintf(line, sizeof line, "%*s  stopped early: %zu jobs unfinished\n", int(workload),
                      "", run.unfinished);
        out += line;
    }
    return out +
           "  mean, p99, median: completion times, from submission; held: of the GPUs there are; "
           "lost: held while stopping and restarting;\n"
           "  unfair: the worst completion time divided by that alone on a fair share\n" +
           words;
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Group &group) {
    return {{"name", group.name},
            {"jobs", group.jobs},
            {"mean_before_s", rounded(group.mean_before_s, 3)},
            {"mean_after_s", rounded(group.mean_after_s, 3)},
            {"wait_before_s", rounded(group.wait_before_s, 3)},
            {"wait_after_s", rounded(group.wait_after_s, 3)},
            {"later", group.later},
            {"worst_ratio", rounded(group.worst, 4)}};
}

Json json_of(const Verdict &v) {
    Json out{{"workload", v.workload}, {"before", v.before}, {"after", v.after}};
    out["mean_change"] = rounded(v.all.change(), 6);
    out["worst_job"] = v.worst_job;
    out["p99_ratio"] = rounded(v.p99_ratio, 4);
    out["all"] = json_of(v.all);
    out["sizes"] = out["users"] = Json::array();
    for (const Group &size : v.sizes) out["sizes"].push_back(json_of(size));
    for (const Group &user : v.users) out["users"].push_back(json_of(user));
    return out;
}

Json json_of(const Summary &run, bool timings) {
    Json out{{"workload", run.workload},
             {"policy", run.policy},
             {"knows", run.knows},
             {"jobs", run.jobs},
             {"mean_jct_s", rounded(run.mean_jct_s, 3)},
             {"median_jct_s", rounded(run.median_jct_s, 3)},
             {"p99_jct_s", rounded(run.p99_jct_s, 3)},
             {"makespan_s", rounded(run.makespan_s, 3)},
             {"restarts_per_job", rounded(run.restarts_per_job, 6)},
             {"decide_ms_max", timings ? rounded(run.decide_ms_max, 3) : 0},
             {"wall_s", timings ? rounded(run.wall_s, 6) : 0},
             {"unfinished", run.unfinished},
             {"gpu_hours", rounded(run.gpu_hours, 3)},
             {"utilisation", rounded(run.utilisation, 6)},
             {"lost_gpu_s", rounded(run.lost_gpu_s, 3)},
             {"worst_fairness", rounded(run.worst_fairness, 6)}};
    if (run.graded == 0) return out;
    out["decisions_graded"] = run.graded;
    out["mean_gap"] = rounded(run.mean_gap, 6);
    out["worst_gap"] = rounded(run.worst_gap, 6);
    return out;
}

}  // namespace

std::string json(const Report &report, bool timings) {
    Json runs = Json::array(), verdicts = Json::array();
    for (const Summary &run : report.summaries) runs.push_back(json_of(run, timings));
    for (const Verdict &v : report.verdicts) verdicts.push_back(json_of(v));
    return Json{{"runs", runs}, {"verdicts", verdicts}, {"assumptions", report.assumptions}}.dump(
               1) +
           "\n";
}

std::string jobs_csv_header() {
    return "workload,policy,job,application,submit_s,start_s,finish_s,jct_s,restarts,gpu_s,"
           "lost_gpu_s,fairness\n";
}

std::string jobs_csv(const Workload &workload, const RunResult &run) {
    std::string out;
    char line[512];
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
        const JobSpec &spec = workload.jobs[i];
        const JobResult &job = run.jobs[i];
        const bool done = job.finish_s >= 0;
        std::snprintf(
            line, sizeof line, "%.64s,%.64s,%.64s,%.64s,%.3f,%.3f,%.3f,%.3f,%d,%.1f,%.1f,%.4f\n",
            run.workload.c_str(), run.policy.c_str(), spec.name.c_str(), spec.application.c_str(),
            spec.submit_s, job.start_s, job.finish_s, done ? job.finish_s - spec.submit_s : -1,
            job.restarts, job.gpu_s, job.lost_gpu_s, job.fairness);
        out += line;
    }
    return out;
}

void write_file(const std::string &path, const std::string &text) {
    if (path == "-") {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return;
    }
    std::FILE *file = std::fopen(path.c_str(), "wb");
    if (!file) throw InputError(path + ": cannot be written: " + std::strerror(errno));
    const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !whole)
        throw InputError(path + ": cannot be written: " + std::strerror(errno));
}

}  // namespace ringrt::sim

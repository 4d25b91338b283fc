// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

#include "sim/slurm/plugin_run.h"
#include "sim/workload/csv.h"
#include "tools/ringsim/commands.h"
#include "tools/ringsim/report.h"
#include "tools/ringsim/verdict.h"

namespace ringrt::sim {
namespace {

std::atomic<bool> g_stop{false};  // set by Ctrl-C: lock-free, so safe in a signal handler
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) { g_stop.store(true); }

struct Task {
    const Workload *workload;
    PolicySpec policy;
    RunResult result;
};

Knowledge knowledge_of(const CompareArguments &a, const PolicySpec &policy) {
    if (policy.knowledge_given || policy.plugin || a.models == "auto") return policy.knowledge;
    return a.models == "oracle"    ? Knowledge::oracle
           : a.models == "learned" ? Knowledge::learned
                                   : Knowledge::wrong;
}

void run_task(Task &task, const CompareArguments &a, std::atomic<uint64_t> &done) {
    SimOptions options = a.sim;
    options.knowledge = task.policy.knowledge;
    options.timeline = !a.svg_path.empty() || !a.html_path.empty() || !a.trace_path.empty();
    task.policy.options.payback = a.payback;
    const auto run = task.policy.plugin ? simulate_plugin : simulate;
    task.result = run(*task.workload, task.policy, options, &g_stop, &done);
}

// One line on a terminal, updated twice a second.
class Progress {
  public:
    Progress(uint64_t total, const std::atomic<uint64_t> &done, bool quiet)
        : total_(total), done_(done), shown_(!quiet && isatty(STDERR_FILENO) == 1) {
        if (shown_) thread_ = std::thread([this] { show(); });
    }
    ~Progress() {
        finished_.store(true);
        if (thread_.joinable()) thread_.join();
        if (shown_) std::fputs("\r\033[K", stderr);
    }
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

  private:
    void show() const {
        const auto start = std::chrono::steady_clock::now();
        for (int tick = 1; !finished_.load(); ++tick) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            if (tick % 10 != 0) continue;
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
            const uint64_t done = done_.load();
            const double left = done > 0 ? spent.count() * double(total_ - done) / double(done) : 0;
            std::fprintf(stderr, "\r\033[Ksimulated %llu of %llu jobs, about %.0f s left",
                         static_cast<unsigned long long>(done),
                         static_cast<unsigned long long>(total_), left);
        }
    }
    uint64_t total_;
    const std::atomic<uint64_t> &done_;
    bool shown_;
    std::atomic<bool> finished_{false};
    std::thread thread_;
};

// Takes the cluster from a history that shows it, unless one was given.
void infer_cluster(CompareArguments &a) {
    if (a.cluster_given || a.workloads.size() != 1) return;
    const InferredCluster seen = inferred_cluster(a.workloads[0]);
    if (seen.nodes == 0) return;
    a.sim.nodes = seen.nodes;
    a.sim.gpus_per_node = seen.gpus_per_node;
    a.cluster_seen = true;
}

// KEY=VALUE of malleable.yaml.
void set_plugin(PolicySpec &policy, const std::vector<std::string> &settings) {
    for (const std::string &setting : settings) {
        const std::size_t at = std::min(setting.find('='), setting.size());
        const std::string key = setting.substr(0, at);
        if (at == setting.size())
            throw InputError("--set: expected KEY=VALUE, got \"" + printable(setting) + "\"");
        if (const auto error =
                controller::set_parameter(*policy.plugin, key, setting.substr(at + 1)))
            throw InputError("--set: " + printable(key) + ": " + *error);
        policy.plugin_restart_set |= key == "restart_s";
    }
}

// A workload with its jobs on each GPU type.
Workload read_gpu_types(const std::string &path, WorkloadOptions options, const SimOptions &sim) {
    Workload out;
    for (const GpuType &gpu_type : sim.gpu_types) {
        options.gpu_type = gpu_type.name;
        options.gpus_of_type = gpu_type.nodes * gpu_type.gpus_per_node;
        options.gpus_per_node = gpu_type.gpus_per_node;
        Workload on = read_workload(path, options);
        if (out.gpu_types.empty()) out = on;
        out.gpu_types.push_back(std::move(on.jobs));
    }
    return out;
}

// Rejects options that do not support several GPU types.
void check_gpu_types(const CompareArguments &a) {
    if (a.sim.gpu_types.empty()) return;
    for (const PolicySpec &policy : a.policies)
        if (!std::holds_alternative<policy::Decide>(policy.decide) || policy.plugin)
            throw InputError("--gpu-types: " + policy.name + " supports one GPU type");
    if (a.merge || a.share < 1 || a.restart_spread > 0 || a.sim.grade_every > 0 ||
        !a.svg_path.empty() || !a.html_path.empty())
        throw InputError(
            "--gpu-types goes with none of --merge, --share, --restart-spread, --grade, --svg, "
            "--html");
}

std::vector<Workload> read_all(const CompareArguments &a) {
    WorkloadOptions options{.profiles_dir = a.profiles_dir,
                            .cluster_gpus = a.sim.total_gpus(),
                            .gpus_per_node = a.sim.gpus_per_node,
                            .seed = a.sim.seed,
                            .parallel = a.parallel};
    options.malleable_max = a.malleable_max > 0 ? a.malleable_max : options.cluster_gpus;
    std::vector<Workload> workloads;
    for (const std::string &path : a.workloads) {
        workloads.push_back(a.sim.gpu_types.empty() ? read_workload(path, options)
                                                    : read_gpu_types(path, options, a.sim));
        if (workloads.back().jobs.empty()) throw InputError(path + ": no jobs in it");
    }
    if (a.merge) workloads = {merge_workloads(workloads)};
    for (Workload &workload : workloads) {
        spread_restarts(workload, a.sim.restart_s, a.restart_spread, a.sim.seed);
        keep_malleable(workload, a.share, a.sim.seed);
    }
    return workloads;
}

// For each workload, every run against that of stock Slurm.
std::vector<Verdict> verdicts_of(const std::vector<Task> &tasks) {
    std::vector<Verdict> out;
    for (const Task &stock : tasks) {
        if (stock.policy.name != "fifo") continue;
        for (const Task &task : tasks)
            if (task.workload == stock.workload && task.policy.name != "fifo")
                out.push_back(verdict(*task.workload, stock.result, task.result));
    }
    return out;
}

std::string shown(const CompareArguments &a, const Report &report) {
    std::string out = table(report.summaries);
    for (const Verdict &v : report.verdicts)
        out += (a.workloads.size() > 1 && !a.merge ? v.workload + ": " : "") + one_line(v) + "\n";
    if (report.verdicts.size() != 1) {
        for (const std::string &line : report.assumptions)
            if (line.starts_with("extrapolated")) out += line + "\n";
        return out;
    }
    out = one_line(report.verdicts[0]) + "\n\n" + table(report.summaries) + "\nassumed:\n";
    for (const std::string &line : report.assumptions) out += "  " + line + "\n";
    return out + "\n" + details(report.verdicts[0]);
}

void write_reports(const CompareArguments &a, const std::vector<Workload> &workloads,
                   const std::vector<Task> &tasks) {
    Report report{.options = a.sim, .command = a.command};
    for (const Task &task : tasks) {
        report.summaries.push_back(summarise(*task.workload, task.result, a.sim));
        report.summaries.back().knows = knows(task.policy);
        report.views.push_back({.workload = task.workload, .run = &task.result});
    }
    report.verdicts = verdicts_of(tasks);
    report.assumptions = assumptions(a, workloads);
    const std::vector<RunView> &views = report.views;
    if (a.json_path != "-") std::fputs(shown(a, report).c_str(), stdout);
    if (!a.json_path.empty()) write_file(a.json_path, json(report, !a.no_timings));
    if (!a.csv_path.empty()) {
        std::string text = jobs_csv_header();
        for (const RunView &view : views) text += jobs_csv(*view.workload, *view.run);
        write_file(a.csv_path, text);
    }
    if (!a.svg_path.empty())
        write_file(a.svg_path, timeline_svg(*views.back().workload, *views.back().run, a.sim));
    if (!a.trace_path.empty()) write_file(a.trace_path, chrome_trace(views.back()));
    if (!a.html_path.empty()) write_file(a.html_path, html(report));
}

// Rejects before a long run what would fail after it.
void check_outputs(const CompareArguments &a) {
    for (const std::string *path :
         {&a.json_path, &a.csv_path, &a.svg_path, &a.html_path, &a.trace_path}) {
        const std::filesystem::path directory = std::filesystem::path(*path).parent_path();
        if (!directory.empty() && !std::filesystem::is_directory(directory))
            throw InputError(*path + ": cannot be written: " + directory.string() +
                             " is no directory");
    }
}

}  // namespace

int run_compare(const CompareArguments &given) {
    CompareArguments a = given;
    check_outputs(a);
    infer_cluster(a);
    check_gpu_types(a);
    for (PolicySpec &policy : a.policies)
        if (policy.plugin) set_plugin(policy, a.plugin_settings);
    return run_compared(a, read_all(a));
}

int run_compared(const CompareArguments &given, const std::vector<Workload> &workloads) {
    CompareArguments a = given;
    a.sim.start_s = a.start_s >= 0 ? a.start_s : std::min(a.sim.restart_s, 30.0);
    for (PolicySpec &policy : a.policies) {
        policy.knowledge = knowledge_of(a, policy);
        if (a.placement == "authors") policy.placement = policy.authors_placement;
        if (policy.adapts_batch && is_in_error(policy.knowledge))
            throw InputError("policy: goodput@wrong does not exist: @oracle or @learned");
    }
    std::vector<Task> tasks;
    uint64_t jobs = 0;
    for (const Workload &workload : workloads)
        for (const PolicySpec &policy : a.policies) {
            tasks.push_back({.workload = &workload, .policy = policy, .result = {}});
            jobs += workload.jobs.size();
        }
    g_stop.store(false);
    std::signal(SIGINT, on_interrupt);
    std::atomic<uint64_t> done{0};
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    const auto work = [&] {
        for (std::size_t i = next++; i < tasks.size(); i = next++) try {
                run_task(tasks[i], a, done);
            } catch (...) {
                const std::lock_guard lock(failure_lock);
                failure = std::current_exception();
            }
    };
    {
        const Progress progress(jobs, done, a.quiet);
        const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
        const std::size_t count =
            std::min<std::size_t>(tasks.size(), a.threads > 0 ? unsigned(a.threads) : cores);
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
    }
    if (failure) std::rethrow_exception(failure);
    write_reports(a, workloads, tasks);
    if (!g_stop.load()) return 0;
    std::fputs("ringsim: stopped by Ctrl-C; figures are over the jobs that had finished\n", stderr);
    return 1;
}

}  // namespace ringrt::sim

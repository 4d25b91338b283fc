// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

#include "sim/workload/csv.h"
#include "tools/ringsim/commands.h"
#include "tools/ringsim/report.h"

namespace ringrt::sim {
namespace {

std::atomic<bool> g_stop{false};  // set by Ctrl-C: lock-free, so safe in a handler
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) { g_stop.store(true); }

struct Task {
    const Workload *workload;
    PolicySpec policy;
    RunResult result;
};

Knowledge knowledge_of(const CompareArguments &a, const PolicySpec &policy) {
    if (policy.says_knowledge || a.models == "auto") return policy.knowledge;
    return a.models == "oracle"    ? Knowledge::oracle
           : a.models == "learned" ? Knowledge::learned
                                   : Knowledge::wrong;
}

void run_task(Task &task, const CompareArguments &a, std::atomic<uint64_t> &done) {
    SimOptions options = a.sim;
    options.start_s = a.start_s >= 0 ? a.start_s : std::min(a.sim.restart_s, 30.0);
    options.knowledge = knowledge_of(a, task.policy);
    options.timeline = !a.svg_path.empty() || !a.html_path.empty() || !a.trace_path.empty();
    task.policy.options.payback = a.payback;
    task.result = simulate(*task.workload, task.policy, options, &g_stop, &done);
}

// One line on a terminal, rewritten twice a second.
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

std::vector<Workload> read_all(const CompareArguments &a) {
    WorkloadOptions options{.profiles_dir = a.profiles_dir,
                            .cluster_gpus = a.sim.nodes * a.sim.gpus_per_node,
                            .gpus_per_node = a.sim.gpus_per_node,
                            .seed = a.sim.seed};
    options.malleable_max = a.malleable_max > 0 ? a.malleable_max : options.cluster_gpus;
    std::vector<Workload> workloads;
    for (const std::string &path : a.workloads) {
        workloads.push_back(read_workload(path, options));
        if (workloads.back().jobs.empty()) throw InputError(path + ": no jobs in it");
    }
    if (a.merge) workloads = {merge_workloads(workloads)};
    for (Workload &workload : workloads)
        spread_restarts(workload, a.sim.restart_s, a.restart_spread, a.sim.seed);
    return workloads;
}

void write_reports(const CompareArguments &a, const std::vector<Task> &tasks) {
    std::vector<Summary> summaries;
    std::vector<RunView> views;
    for (const Task &task : tasks) {
        summaries.push_back(summarise(*task.workload, task.result, a.sim));
        views.push_back({.workload = task.workload, .run = &task.result});
    }
    if (a.json_path != "-") std::fputs(table(summaries).c_str(), stdout);
    if (!a.json_path.empty()) write_file(a.json_path, json(summaries, !a.no_timings));
    if (!a.csv_path.empty()) {
        std::string text = jobs_csv_header();
        for (const RunView &view : views) text += jobs_csv(*view.workload, *view.run);
        write_file(a.csv_path, text);
    }
    if (!a.svg_path.empty())
        write_file(a.svg_path, timeline_svg(*views.back().workload, *views.back().run, a.sim));
    if (!a.trace_path.empty()) write_file(a.trace_path, chrome_trace(views.back()));
    if (!a.html_path.empty()) write_file(a.html_path, html(summaries, views, a.sim));
}

// What would fail after a long run is refused before it.
void check_outputs(const CompareArguments &a) {
    for (const std::string *path :
         {&a.json_path, &a.csv_path, &a.svg_path, &a.html_path, &a.trace_path}) {
        const std::filesystem::path folder = std::filesystem::path(*path).parent_path();
        if (!folder.empty() && !std::filesystem::is_directory(folder))
            throw InputError(*path + ": cannot be written: " + folder.string() + " is no folder");
    }
}

}  // namespace

int run_compare(const CompareArguments &a) {
    check_outputs(a);
    return run_compared(a, read_all(a));
}

int run_compared(const CompareArguments &a, const std::vector<Workload> &workloads) {
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
    write_reports(a, tasks);
    if (!g_stop.load()) return 0;
    std::fputs("ringsim: stopped by Ctrl-C; figures are over the jobs that had finished\n", stderr);
    return 1;
}

}  // namespace ringrt::sim

// SPDX-License-Identifier: BSD-3-Clause
// The simulator: what its readers refuse, where it places jobs, that it neither loses nor invents
// work, and that it reproduces published results.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>

#include "sim/engine/policy_spec.h"
#include "sim/workload/csv.h"
#include "tests/support/check.h"
#include "tools/ringsim/report.h"

using namespace ringrt::sim;

// The heap's bytes in use, and their peak.
static std::size_t g_heap = 0, g_heap_peak = 0;

[[gnu::noinline]] void *operator new(std::size_t bytes) {
    void *memory = std::malloc(bytes);
    if (!memory) throw std::bad_alloc();
    g_heap += malloc_usable_size(memory);
    g_heap_peak = std::max(g_heap_peak, g_heap);
    return memory;
}
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept try {
    return operator new(bytes);
} catch (const std::bad_alloc &) {
    return nullptr;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
    g_heap -= malloc_usable_size(memory);
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept { operator delete(memory); }

namespace {

// Peak bytes above those in use at its construction.
class HeapPeak {
  public:
    HeapPeak() : before_(g_heap) { g_heap_peak = g_heap; }
    [[nodiscard]] std::size_t bytes() const { return g_heap_peak - before_; }

  private:
    std::size_t before_;
};

std::string file(const std::string &name, const std::string &text) {
    const std::string path =
        (std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + "-" + name))
            .string();
    std::ofstream(path) << text;
    return path;
}

// The error line without the directory.
std::string refusal(const std::string &name, const std::string &text) {
    const std::string path = file(name, text);
    std::string what = "accepted";
    try {
        (void)read_workload(path, {});
    } catch (const InputError &error) {
        what = error.what();
        if (const std::size_t at = what.find(name); at != std::string::npos) what = what.substr(at);
    }
    std::filesystem::remove(path);
    return what;
}

Workload read_text(const std::string &name, const std::string &text) {
    const std::string path = file(name, text);
    Workload workload = read_workload(path, {});
    std::filesystem::remove(path);
    return workload;
}

std::string shared_data() {
    for (const char *dir :
         {static_cast<const char *>(std::getenv("RINGRT_SHARED_DATA")), "../shared/data"})
        if (dir && std::filesystem::exists(std::string(dir) + "/pollux/workloads")) return dir;
    const char *source = std::getenv("srcdir");
    const std::string beside = std::string(source ? source : ".") + "/../shared/data";
    return std::filesystem::exists(beside + "/pollux/workloads") ? beside : "";
}

}  // namespace

TEST(readers_report_file_line_and_valid_values) {
    EXPECT_TEXT(refusal("a.swf", "; comment\n1 2 x\n"), "a.swf:2: expected a number, got \"x\"");
    EXPECT_TEXT(refusal("a.swf", "1 2 3\n"),
                "a.swf:1: 3 fields, expected the 18 of the Standard Workload Format");
    EXPECT_TEXT(refusal("b.txt", "JobID|Submit|ElapsedRaw|AllocTRES\n7|yesterday|5|gres/gpu=1\n"),
                "b.txt:2: Submit: expected 2026-11-01T12:00:00 or seconds, got \"yesterday\"");
    EXPECT_TEXT(refusal("b.txt", "JobID|Submit|ElapsedRaw|AllocTRES\n7|5\n"),
                "b.txt:2: 2 fields where the header has 4");
    EXPECT_TEXT(refusal("b.txt", "JobID|Submit|ElapsedRaw|AllocTRES\n7|5|nan|gres/gpu=1\n"),
                "b.txt:2: elapsed: expected seconds or D-HH:MM:SS, got \"nan\"");
    EXPECT_TEXT(refusal("c.csv", "JobID|Elapsed\n"), "c.csv:1: no column \"Submit\"");
    ck_assert(
        refusal("d.csv", "JobID|Submit\n" + std::string(70000, 'x')).find("line longer than") !=
        std::string::npos);
    ck_assert(refusal("e.csv", std::string("a\0b", 3)).find("NUL") != std::string::npos);
    ck_assert(refusal("f.csv", "").find("neither a Pollux workload") != std::string::npos);
}

TEST(sacct_steps_and_jobs_without_gpus_are_left_out) {
    const Workload workload =
        read_text("sacct.txt",
                  "JobID|JobName|Submit|Elapsed|TimelimitRaw|AllocTRES|State\n"
                  "10|a|2026-11-01T00:00:00|01:00:00|120|billing=8,cpu=8,gres/gpu:a100=4,gres/"
                  "gpu=4|COMPLETED\n"
                  "10.batch|batch|2026-11-01T00:00:00|01:00:00||gres/gpu=4|COMPLETED\n"
                  "11|b|2026-11-01T00:10:00|1-00:00:01|UNLIMITED|cpu=1|COMPLETED\n"
                  "12|c|2026-11-01T00:20:00|00:00|60|gres/gpu=1|CANCELLED\n"
                  "13|d\x1b[31m|2026-11-01T00:05:00|02:00|60|gres/gpu=2|FAILED\n");
    ck_assert_uint_eq(workload.jobs.size(), 2);
    EXPECT_TEXT(workload.jobs[0].name, "10");
    ck_assert_int_eq(workload.jobs[0].gpus_asked, 4);
    ck_assert_double_eq_tol(workload.jobs[0].limit_s, 7200, 1e-9);
    EXPECT_TEXT(workload.jobs[1].application, "d?[31m");
    ck_assert_double_eq_tol(workload.jobs[1].submit_s - workload.jobs[0].submit_s, 300, 1e-9);
}

TEST(a_recorded_job_alone_lasts_as_recorded) {
    const Workload workload =
        read_text("one.swf", "1 100 0 500 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1\n");
    const PolicySpec fifo = parse_policy("fifo");
    SimOptions options{.nodes = 1, .gpus_per_node = 8};
    options.start_s = 0;
    options.interval_s = 0;
    const RunResult run = simulate(workload, fifo, options);
    ck_assert_double_eq_tol(run.jobs[0].start_s, 100, 1e-6);
    ck_assert_double_eq_tol(run.jobs[0].finish_s, 600, 1e-3);
}

TEST(packed_jobs_run_on_one_node_and_never_overlap) {
    std::srand(1);
    for (int round = 0; round < 200; ++round) {
        Placer placer(4, 4, Placement::pack);
        std::vector<Seats> seats(10);
        for (int step = 0; step < 20; ++step) {
            std::vector<int> want(10);
            int left = 16;
            for (int &gpus : want) {
                gpus = 1 << (std::rand() % 5);
                if (std::rand() % 3 == 0 || gpus > left) gpus = 0;
                left -= gpus;
            }
            placer.place(want, seats);
            std::vector<int> used(4, 0);
            for (std::size_t i = 0; i < want.size(); ++i) {
                int sum = 0;
                for (const auto &[node, gpus] : seats[i]) {
                    used[node] += gpus;
                    sum += gpus;
                }
                ck_assert_int_eq(sum, want[i]);
                ck_assert_uint_eq(seats[i].size(), std::size_t((want[i] + 3) / 4));
            }
            for (const int gpus : used) ck_assert_int_le(gpus, 4);
        }
    }
}

// As the plugin's requests distribute tasks; the baselines' requests fill nodes.
TEST(a_job_over_several_nodes_is_divided_evenly) {
    const auto shares = [](Placement rule, int gpus) {
        Placer placer(5, 4, rule);
        std::vector<Seats> seats(1);
        placer.place({gpus}, seats);
        std::vector<int> out;
        for (const auto &[node, share] : seats[0]) out.push_back(share);
        return out;
    };
    ck_assert((shares(Placement::pack_evenly, 6) == std::vector{3, 3}));
    ck_assert((shares(Placement::pack_evenly, 10) == std::vector{2, 2, 2, 2, 2}));
    ck_assert((shares(Placement::pack_evenly, 3) == std::vector{3}));
    ck_assert((shares(Placement::pack, 6) == std::vector{4, 2}));
    ck_assert(parse_policy("doubling").placement == Placement::pack_evenly);
    ck_assert(parse_policy("tiresias").placement == Placement::pack);
}

// Jobs whose restarts cost more than resizing gains are left alone once that is known. The loss is
// what each job specifies.
TEST(costly_restarts_are_rarer) {
    std::string jobs = "JobID|JobName|Submit|ElapsedRaw|AllocTRES\n";
    for (int i = 0; i < 60; ++i)
        jobs += std::to_string(i) + (i % 2 ? "|big|" : "|small|") + std::to_string(200 * i) +
                "|1800|gres/gpu=4\n";
    Workload workload = read_text("sacct.txt", jobs);
    for (JobSpec &job : workload.jobs) job.restart_s = job.application == "big" ? 900 : 5;
    for (const char *name : {"doubling@oracle", "doubling@learned"}) {
        const PolicySpec named = parse_policy(name);
        SimOptions options{.nodes = 4, .gpus_per_node = 4, .knowledge = named.knowledge};
        const RunResult run = simulate(workload, named, options);
        int big = 0, small = 0;
        for (std::size_t i = 0; i < run.jobs.size(); ++i) {
            (workload.jobs[i].application == "big" ? big : small) += run.jobs[i].restarts;
            const double least = workload.jobs[i].restart_s * (run.jobs[i].restarts - 1);
            ck_assert_double_ge(run.jobs[i].lost_gpu_s, least);
        }
        ck_assert_msg(2 * big < small, "%s: %d restarts of big jobs, %d of small", name, big,
                      small);
    }
}

// With --whole-restarts a job keeps the size for which it restarts at least until it runs again.
// Otherwise the next arrival may cut the restart short.
TEST(a_whole_restart_is_not_cut_short) {
    std::string jobs = "JobID|JobName|Submit|ElapsedRaw|AllocTRES\n";
    for (int i = 0; i < 60; ++i)
        jobs += std::to_string(i) + "|a|" + std::to_string(97 * i) + "|1300|gres/gpu=4\n";
    const Workload workload = read_text("sacct.txt", jobs);
    for (const bool whole : {false, true}) {
        SimOptions options{.nodes = 4, .gpus_per_node = 4, .restart_s = 120, .start_s = 120};
        options.interval_s = 10;
        options.whole_restarts = whole;
        options.timeline = true;
        const RunResult run = simulate(workload, parse_policy("doubling@oracle"), options);
        int restarts = 0;
        for (const JobResult &job : run.jobs) restarts += job.restarts;
        const auto cut = std::ranges::count_if(
            run.spans, [](const Span &span) { return span.to_s - span.from_s < 119.9; });
        ck_assert_int_gt(restarts, 10);
        ck_assert_msg((cut == 0) == whole, "%d of %zu spans end during a start", int(cut),
                      run.spans.size());
    }
}

// Four long jobs hold all GPUs, and four short ones arrive. With --pause nobody waits for long.
TEST(pauses_let_short_jobs_start) {
    std::string jobs = "JobID|JobName|Submit|ElapsedRaw|AllocTRES\n";
    for (int i = 0; i < 8; ++i)
        jobs += std::to_string(i) + (i < 4 ? "|long|0|90000" : "|short|1000|600") + "|gres/gpu=4\n";
    const Workload workload = read_text("sacct.txt", jobs);
    SimOptions options{.nodes = 1, .gpus_per_node = 4};
    const auto latest_short_s = [&] {
        const RunResult run = simulate(workload, parse_policy("doubling@oracle"), options);
        double latest_s = 0;
        for (std::size_t i = 4; i < 8; ++i) latest_s = std::max(latest_s, run.jobs[i].finish_s);
        for (const JobResult &job : run.jobs) ck_assert_double_gt(job.finish_s, 0);
        return latest_s;
    };
    ck_assert_double_gt(latest_short_s(), 50000);
    options.pause = true;
    ck_assert_double_lt(latest_short_s(), 10000);
}

TEST(restarts_spread_by_application) {
    Workload workload = read_text("sacct.txt",
                                  "JobID|JobName|Submit|ElapsedRaw|AllocTRES\n1|a|0|9|gres/gpu=1\n"
                                  "2|b|1|9|gres/gpu=1\n3|a|2|9|gres/gpu=1\n4|b|3|9|gres/gpu=1\n");
    workload.jobs[3].restart_s = 7;
    spread_restarts(workload, 30, 2, 1);
    const auto cost = [&](std::size_t i) { return workload.jobs[i].restart_s; };
    ck_assert_double_eq(cost(0), cost(2));
    ck_assert(cost(0) != cost(1));
    ck_assert_double_eq(cost(3), 7);
    for (std::size_t i = 0; i < 3; ++i) ck_assert(cost(i) >= 10 && cost(i) <= 90);
}

// Peak heap use of a simulated day that repeats. A job leaves behind its result and one or two
// words, whatever the number of decisions.
TEST(memory_is_flat_in_time) {
    const auto days = [](int count) {
        std::string jobs = "JobID|JobName|Submit|ElapsedRaw|AllocTRES\n";
        for (int i = 0; i < 200 * count; ++i)
            jobs += std::to_string(i) + "|a" + std::to_string(i % 7) + "|" +
                    std::to_string(1200 * i) + "|3000|gres/gpu=" + std::to_string(1 << i % 4) +
                    "\n";
        return read_text("sacct.txt", jobs);
    };
    const Workload one = days(1), eight = days(8);
    for (const char *name :
         {"doubling", "doubling@oracle", "doubling@wrong", "doubling@prior", "tiresias", "fifo"}) {
        const PolicySpec named = parse_policy(name);
        const SimOptions options{.nodes = 4, .gpus_per_node = 4, .knowledge = named.knowledge};
        std::size_t peak[2];
        for (int i = 0; i < 2; ++i) {
            const HeapPeak heap;
            const RunResult run = simulate(i == 0 ? one : eight, named, options);
            ck_assert_double_ge(run.jobs.back().finish_s, 0);
            peak[i] = heap.bytes();
        }
        const std::size_t per_job = sizeof(JobResult) + 32;
        ck_assert_msg(peak[1] < peak[0] + peak[0] / 4 + 1400 * per_job,
                      "%s: %zu bytes for one day, %zu for eight", name, peak[0], peak[1]);
    }
}

TEST(an_unknown_policy_is_refused_with_the_known_ones) {
    try {
        (void)parse_policy("lottery");
        ck_abort_msg("accepted");
    } catch (const InputError &error) {
        ck_assert(std::string(error.what()).find("tiresias") != std::string::npos);
    }
    for (const char *name : {"fixed:0", "fixed:x", "doubling@truth", "goodput@wrong",
                             "goodput@prior", "plugin@oracle"}) {
        bool refused = false;
        try {
            (void)parse_policy(name);
        } catch (const InputError &) {
            refused = true;
        }
        ck_assert_msg(refused, "%s", name);
    }
}

// Published: Tiresias 2473.65 s and 5144.96 s, Optimus 4087.06 s and 6913.88 s.
TEST(published_means_are_reproduced_within_3_percent) {
    const std::string data = shared_data();
    if (data.empty()) {
        std::puts("published_means: skipped, no shared data (RINGRT_SHARED_DATA)");
        return;
    }
    const WorkloadOptions read{.profiles_dir = data + "/pollux/traces"};
    const double published[2][2] = {{2473.65, 4087.06}, {5144.96, 6913.88}};
    for (int w = 0; w < 2; ++w) {
        const Workload workload = read_workload(
            data + "/pollux/workloads/workload-" + std::to_string(w + 1) + ".csv", read);
        int p = 0;
        for (const char *name : {"tiresias", "optimus"}) {
            PolicySpec named = parse_policy(name);
            named.placement = named.authors_placement;
            const SimOptions options;
            const RunResult run = simulate(workload, named, options);
            const double mean = summarise(workload, run, options).mean_jct_s;
            ck_assert_double_eq_tol(mean, published[w][p], 0.03 * published[w][p]);
            ++p;
        }
    }
}

int main() { return ringrt::test::run_all("ringsim"); }

// SPDX-License-Identifier: BSD-3-Clause
// What jobs may expect from doubling while other jobs run: no job starves, no job waits for GPUs
// that others can give, and weights and priorities are respected.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "slurm_plugin/policy/engine/packing.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt::policy;
using namespace ringrt::test;

namespace {

// Carries a decision out: a job that changes size leaves for another place, the largest first. With
// `stay_close`, a job that shrinks keeps a part of its place, and one that grows leaves only for a
// larger free place. Returns false if a job finds no place; that job stays unchanged.
bool seat(std::vector<Job> &jobs, const std::vector<Allotment> &out, const Capacity &capacity,
          bool stay_close) {
    Packing packing(capacity);
    std::vector<std::size_t> moving;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        Job &job = jobs[i];
        const bool shrinks = out[i].gpus < job.gpus_now && stay_close;
        for (int over = shrinks ? job.gpus_now - out[i].gpus : 0; over > 0;) {
            const int part = std::min(over, job.held.back().second);
            over -= part;
            if ((job.held.back().second -= part) == 0) job.held.pop_back();
        }
        if (shrinks) job.gpus_now = out[i].gpus;
        if (stay_close || out[i].gpus == job.gpus_now) packing.occupy(job.held);
        if (out[i].gpus != job.gpus_now) moving.push_back(i);
    }
    std::stable_sort(moving.begin(), moving.end(),
                     [&](std::size_t a, std::size_t b) { return out[a].gpus > out[b].gpus; });
    bool all = true;
    for (const std::size_t i : moving) {
        std::vector<NodeShare> place;
        if (stay_close) packing.release(jobs[i].held);
        if (packing.place(out[i].gpus, &place)) {
            jobs[i].held = std::move(place);
            jobs[i].gpus_now = out[i].gpus;
        } else {
            all = false;
            if (stay_close) packing.occupy(jobs[i].held);
        }
    }
    return all;
}

}  // namespace

// Small jobs arrive forever, and one job that needs the whole cluster arrives among them. No job
// behind it is served first, so it starts when the jobs that ran at its arrival have ended, and no
// later.
TEST(no_job_starves) {
    constexpr int kLasts = 20, kComes = 7;  // rounds
    for (const GainRule rule : kRules) {
        std::map<uint32_t, int> ends;  // of running jobs
        std::vector<Job> jobs;
        int waited = -1;
        uint32_t next = 1;
        const uint32_t large = 1000;
        for (int round = 0; round < 200 && waited < 0; ++round) {
            std::erase_if(jobs, [&](const Job &job) {
                return ends.contains(job.id) && ends.at(job.id) <= round;
            });
            jobs.push_back({.id = next++, .gpus_max = 4, .submit_s = double(round)});
            if (round == kComes)
                jobs.push_back(
                    {.id = large, .gpus_min = 16, .gpus_max = 16, .submit_s = double(round)});
            for (Job &job : jobs) job.steps_left = 1000;
            const auto out = decide_doubling_fast(jobs, nodes(1, 16), {.gain = rule});
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                if (jobs[i].gpus_now == 0 && out[i].gpus > 0) ends[jobs[i].id] = round + kLasts;
                jobs[i].gpus_now = out[i].gpus;
                if (jobs[i].id == large && out[i].gpus > 0) waited = round - kComes;
            }
        }
        ck_assert_msg(waited >= 0 && waited <= kLasts, "rule %d: waited %d rounds", int(rule),
                      waited);
    }
}

// The same on nodes that never become empty: each runs jobs of one GPU that are never resized, and
// more arrive forever. A job that needs whole nodes arrives among them.
TEST(no_job_starves_on_fragmented_nodes) {
    constexpr int kLasts = 20, kNodes = 4;  // rounds
    std::mt19937_64 random(12);
    for (int life = 0; life < 40; ++life) {
        const GainRule rule = kRules[life % 4];
        const uint32_t large = 10000;
        const int needs = life % 2 ? 4 : 8, comes = 5 + static_cast<int>(random() % 10);
        const Capacity capacity = nodes(kNodes, 4);
        std::map<uint32_t, int> ends;  // of running jobs
        std::vector<Job> jobs;
        uint32_t next = 1;
        int waited = -1;
        for (int round = 0; round < 400 && waited < 0; ++round) {
            std::erase_if(jobs, [&](const Job &job) {
                return ends.contains(job.id) && ends.at(job.id) <= round;
            });
            if (round == comes)
                jobs.push_back(
                    {.id = large, .gpus_min = needs, .gpus_max = needs, .submit_s = double(round)});
            for (uint64_t i = random() % 3; i > 0; --i)
                jobs.push_back(
                    {.id = next++, .gpus_max = random() % 4 ? 1 : 4, .submit_s = double(round)});
            for (Job &job : jobs) job.steps_left = 1000;
            const auto out = decide_doubling_fast(jobs, capacity, {.gain = rule});
            const auto waits = [&](std::size_t i) { return out[i].gpus == 0; };
            const auto is_large = [&](const Job &job) { return job.id == large; };
            const auto first = std::find_if(jobs.begin(), jobs.end(), is_large) - jobs.begin();
            if (std::size_t(first) < jobs.size() && waits(std::size_t(first)))
                for (std::size_t i = 0; i < jobs.size(); ++i)
                    ck_assert_msg(waits(i) || jobs[i].gpus_now > 0 || jobs[i].submit_s <= comes,
                                  "life %d, round %d: job %u passes the large one", life, round,
                                  jobs[i].id);
            const std::vector<Job> before = jobs;
            if (!seat(jobs, out, capacity, false)) seat(jobs = before, out, capacity, true);
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                if (before[i].gpus_now > 0 || jobs[i].gpus_now == 0) continue;
                ends[jobs[i].id] = round + 1 + static_cast<int>(random() % kLasts);
                if (jobs[i].id == large) waited = round - comes;
            }
        }
        // Jobs before it in the queue may start after its arrival.
        ck_assert_msg(waited >= 0 && waited <= 2 * kLasts, "life %d, rule %d: waited %d rounds",
                      life, int(rule), waited);
    }
}

// All GPUs are held, scattered, by jobs that could return enough for the pending jobs, which need
// one each: no job waits.
TEST(no_job_waits_while_others_can_give) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 300; ++round) {
        const int count = 4 + static_cast<int>(random() % 12), per_node = random() % 2 ? 8 : 4;
        const Capacity capacity = nodes(count, per_node);
        std::vector<Job> jobs = random_jobs(random, 200, 64);
        int free = count * per_node, next_node = 0, can_give = 0;
        std::vector<int> used(std::size_t(count), 0);
        std::size_t running = 0;
        for (; free > 0; ++running) {
            Job &job = jobs[running];
            job.gpus_max = 64;
            job.gpus_now = 1 << random() % 7;
            while (job.gpus_now > free) job.gpus_now /= 2;
            job.gpus_min = std::min(1 << random() % 3, job.gpus_now);
            for (int gpus = job.gpus_now; gpus > 0; next_node = (next_node + 1) % count) {
                if (used[std::size_t(next_node)] == per_node) continue;
                ++used[std::size_t(next_node)];
                --gpus;
                const auto share = std::find_if(job.held.begin(), job.held.end(),
                                                [&](auto &h) { return h.first == next_node; });
                if (share == job.held.end())
                    job.held.push_back({next_node, 1});
                else
                    ++share->second;
            }
            next_node = static_cast<int>(random()) & 3;
            free -= job.gpus_now;
            can_give += job.gpus_now - job.gpus_min;
        }
        const std::size_t most = running + std::size_t(can_give);
        jobs.resize(std::min({jobs.size(), most, running + 1 + random() % 40}));
        for (const GainRule rule : kRules)
            for (const Allotment &a : decide_doubling_fast(jobs, capacity, {.gain = rule}))
                ck_assert_msg(a.gpus > 0, "round %d, rule %d: job %u waits", round, int(rule),
                              a.job_id);
    }
}

// A job with a higher weight (QOS) gets no fewer GPUs for it. Greedy choices for other jobs may
// shift by one ladder step, so the test uses many jobs and a large difference.
TEST(weights_are_respected) {
    std::mt19937_64 random(8);
    long light = 0, heavy = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<Job> jobs = random_jobs(random, 6 + random() % 10, 16);
        const Capacity capacity = nodes(4, 4);
        const std::size_t i = random() % jobs.size();
        const Options options{.gain = GainRule::short_first};
        const int before = decide_doubling_fast(jobs, capacity, options)[i].gpus;
        jobs[i].weight = 16;
        const int after = decide_doubling_fast(jobs, capacity, options)[i].gpus;
        ck_assert_msg(after >= before, "round %d: %d GPUs at weight 1, %d at 16", round, before,
                      after);
        light += before;
        heavy += after;
    }
    ck_assert_msg(heavy > light * 3 / 2, "%ld GPUs at weight 1, %ld at 16", light, heavy);
}

// If GPUs do not suffice for all, jobs of higher priority are served, whatever they would gain.
TEST(priorities_are_respected) {
    std::mt19937_64 random(9);
    for (int round = 0; round < 300; ++round) {
        std::vector<Job> jobs = random_jobs(random, 30, 16);
        for (Job &job : jobs) job.priority = double(random() % 4);
        for (const GainRule rule : kRules) {
            const auto out = decide_doubling_fast(jobs, nodes(4, 4), {.gain = rule});
            double least_served = 9, most_waiting = -1;
            for (std::size_t i = 0; i < jobs.size(); ++i)
                if (out[i].gpus > 0)
                    least_served = std::min(least_served, jobs[i].priority);
                else
                    most_waiting = std::max(most_waiting, jobs[i].priority);
            ck_assert_double_ge(least_served, most_waiting);
        }
    }
}

int main() { return ringrt::test::run_all("fairness"); }

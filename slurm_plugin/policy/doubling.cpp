// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/doubling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "slurm_plugin/policy/gain.h"
#include "slurm_plugin/policy/placement.h"
#include "slurm_plugin/policy/squeeze.h"

namespace ringrt::policy {

namespace {

constexpr int kRepairs = 4;  // rounds of fitting to nodes before all jobs stay where they are

struct Doubling {
    double gain = 0;
    int rank = 0;  // in the canonical order, which settles ties
    int to = 0;    // GPUs
    bool operator<(const Doubling &o) const {
        return gain != o.gain ? gain < o.gain : rank > o.rank;
    }
};

struct Share {
    int gpus = 0;
    double gain = 0;               // of the last doubling granted or refused
    int refused = 0;               // the size that was refused, 0: none
    Reason reason = Reason::none;  // of that refusal
};

// Everything is indexed by rank: running jobs first (nobody is stopped for another's first GPUs),
// then by priority, arrival and id. So the result does not depend on the order of the input.
struct Problem {
    std::vector<const Job *> jobs;
    std::vector<Valuation> values;
    const Capacity &capacity;
    const Options &options;
    std::vector<int> stay;  // the size at which each may stay: gpus_now, less on a crowded node
};

bool stays(const Job &job) {
    return job.pinned || (job.gpus_now > 0 && !on_ladder(job, job.gpus_now));
}

bool comes_first(const Job &a, const Job &b) {
    if ((a.gpus_now > 0) != (b.gpus_now > 0)) return a.gpus_now > 0;
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.submit_s != b.submit_s) return a.submit_s < b.submit_s;
    return a.id < b.id;
}

// The gain rules weigh jobs against each other, and some cap what a nearly finished one is worth: that
// a growth pays back the job's own restart is checked in seconds.
bool pays_back(const Job &job, int to, const Options &options) {
    return job.gpus_now == 0 || to <= job.gpus_now ||
           remaining_s(job, to, options) < remaining_s(job, job.gpus_now, options);
}

// The best growth from `from` up to `most` GPUs: one doubling in the paper's rule, any number of them
// in the others, which so walk the upper hull of the job's value and escape a first doubling that
// loses. `to` 0: none is a gain.
Doubling best_growth(const Job &job, const Valuation &value, int from, int most,
                     const Options &options) {
    Doubling best;
    const double now = value.at(from);
    const int last = options.gain == GainRule::absolute ? 2 * from : job.gpus_max;
    for (int to = 2 * from; to <= std::min({last, job.gpus_max, job.gpus_believed, most}); to *= 2) {
        const double gain = (value.at(to) - now) / (to - from);
        if (gain > best.gain && pays_back(job, to, options)) best = {.gain = gain, .to = to};
        if (to > kAnySize / 2) break;
    }
    return best;
}

Reason why_no_gain(const Job &job, int gpus, const Options &options) {
    Options free_restarts = options;
    free_restarts.payback = 0;
    return best_growth(job, Valuation(job, free_restarts), gpus, kAnySize, free_restarts).to > 0 ? Reason::restart_cost
                                                                   : Reason::no_gain;
}

// First GPUs. A job that finds none keeps those behind it from being served before it.
void give_first(const Problem &p, bool from_present, std::vector<Share> &shares, Room &room) {
    bool somebody_waits = false;
    for (std::size_t i = 0; i < p.jobs.size(); ++i) {
        const Job &job = *p.jobs[i];
        int gpus = p.stay[i];
        if (!stays(job) && (gpus == 0 || !from_present)) {
            gpus = job.gpus_min;
            if (job.gpus_now == 0 && (somebody_waits || !room.fits(gpus))) {
                somebody_waits = true;
                gpus = 0;
            }
        }
        room.change(0, gpus);
        shares[i].gpus = gpus;
    }
}

void grow(const Problem &p, std::vector<Share> &shares, Room &room) {
    std::priority_queue<Doubling> queue;
    const auto offer = [&](int rank, int most) {
        const Job &job = *p.jobs[rank];
        Share &share = shares[rank];
        if (share.gpus == 0 || stays(job) || share.gpus > job.gpus_max / 2) return;
        if (share.gpus > job.gpus_believed / 2) return;
        if (p.stay[rank] < job.gpus_now) most = std::min(most, p.stay[rank]);
        Doubling growth = best_growth(job, p.values[rank], share.gpus, most, p.options);
        growth.rank = rank;
        if (growth.to > 0) {
            share.gain = growth.gain;
            return queue.push(growth);
        }
        if (most < kAnySize) return;  // a larger step was a gain, and did not fit
        share.gain = 0;
        share.refused = 2 * share.gpus;
        share.reason = why_no_gain(job, share.gpus, p.options);
    };
    for (std::size_t i = 0; i < p.jobs.size(); ++i) offer(static_cast<int>(i), kAnySize);
    while (!queue.empty()) {
        const auto [gain, rank, to] = queue.top();
        queue.pop();
        Share &share = shares[rank];
        if (room.fits(to, share.gpus)) {
            room.change(share.gpus, to);
            share.gpus = to;
            offer(rank, kAnySize);
        } else {
            share.refused = to;
            share.reason = Reason::no_capacity;
            if (to > 2 * share.gpus) offer(rank, to / 2);
        }
    }
}

// Places the unchanged jobs where they are and the others by size, the largest first; one that finds no
// place gets its next smaller size. Returns the jobs that must rather stay at their present size.
std::vector<int> place_all(const Problem &p, std::vector<Share> &shares) {
    Packing packing(p.capacity);
    std::vector<int> changed, stay;
    for (std::size_t i = 0; i < p.jobs.size(); ++i) {
        const Job &job = *p.jobs[i];
        if (shares[i].gpus == 0) continue;
        if (shares[i].gpus != job.gpus_now || job.held.empty())
            changed.push_back(static_cast<int>(i));
        else
            packing.take(job.held);
    }
    std::stable_sort(changed.begin(), changed.end(),
                     [&](int a, int b) { return shares[a].gpus > shares[b].gpus; });
    for (const int rank : changed) {
        const Job &job = *p.jobs[rank];
        Share &share = shares[rank];
        if (packing.place(share.gpus) || share.gpus == job.gpus_now) continue;
        share.refused = share.gpus;
        share.reason = Reason::no_capacity;
        do share.gpus /= 2;
        while (share.gpus >= job.gpus_min && share.gpus != job.gpus_now && !packing.place(share.gpus));
        if (share.gpus < job.gpus_min) share.gpus = 0;
        if (job.gpus_now > 0 && (share.gpus == 0 || share.gpus == job.gpus_now)) stay.push_back(rank);
    }
    return stay;
}

void fit_to_nodes(const Problem &p, std::vector<Share> &shares) {
    for (int round = 0; round < kRepairs; ++round) {
        const std::vector<int> stay = place_all(p, shares);
        for (const int rank : stay) shares[rank].gpus = p.jobs[rank]->gpus_now;
        if (stay.empty()) return;
    }
    for (std::size_t i = 0; i < p.jobs.size(); ++i) shares[i].gpus = p.stay[i];
}

std::vector<Share> propose(const Problem &p, bool from_present) {
    std::vector<Share> shares(p.jobs.size());
    Room room(p.capacity);
    give_first(p, from_present, shares, room);
    grow(p, shares, room);
    fit_to_nodes(p, shares);
    return shares;
}

bool present_fits(const Problem &p) {
    Room room(p.capacity);
    for (const int gpus : p.stay) room.change(0, gpus);
    return !room.is_over();
}

// What a proposal is worth: jobs served first, then the sum of their values.
struct Worth {
    int served = 0;
    double sum = 0;
};

Worth worth(const Problem &p, const std::vector<Share> &shares) {
    Worth out;
    for (std::size_t i = 0; i < p.jobs.size(); ++i) {
        if (shares[i].gpus == 0) continue;
        ++out.served;
        out.sum += p.values[i].at(shares[i].gpus);
    }
    return out;
}

bool is_better(const Worth &a, const Worth &b) {
    if (a.served != b.served) return a.served > b.served;
    return a.sum > b.sum + 1e-9 * std::abs(b.sum);
}

Reason reason_of(const Problem &p, const Job &job, const Share &share, bool rigid_took,
                 int free_gpus) {
    if (stays(job)) return Reason::pinned;
    if (share.gpus == 0) return Reason::waits;
    if (share.gpus < job.gpus_now) return rigid_took ? Reason::gave_to_rigid : Reason::gave_to_other;
    if (share.gpus > job.gpus_max / 2) return Reason::at_max;
    if (share.gpus > std::max(job.gpus_now, job.gpus_min)) return Reason::best_gain;
    const bool rigid_would_do =
        p.capacity.kept_for_rigid > 0 && free_gpus + p.capacity.kept_for_rigid >= share.gpus;
    if (share.reason == Reason::no_capacity && rigid_would_do) return Reason::keeps_for_rigid;
    return share.reason;
}

}  // namespace

std::vector<Allotment> decide_doubling(std::span<const Job> jobs, const Capacity &capacity,
                                       const Options &options) {
    std::vector<int> order(jobs.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return comes_first(jobs[a], jobs[b]); });
    Problem p{.capacity = capacity, .options = options};
    p.values.reserve(jobs.size());
    for (const int index : order) {
        p.jobs.push_back(&jobs[index]);
        p.values.emplace_back(jobs[index], options);
    }
    p.stay = sizes_to_stay(p.jobs, capacity, options);

    std::vector<Share> shares = propose(p, false);
    const bool fits = present_fits(p);
    if (fits) {
        std::vector<Share> calm = propose(p, true);
        if (!is_better(worth(p, shares), worth(p, calm))) shares = std::move(calm);
    }
    Room room(capacity);
    for (const Share &share : shares) room.change(0, share.gpus);
    std::vector<Allotment> out(jobs.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const Job &job = *p.jobs[i];
        const Share &share = shares[i];
        out[order[i]] = {.job_id = job.id,
                         .gpus = share.gpus,
                         .reason = reason_of(p, job, share, !fits || p.stay[i] < job.gpus_now,
                                             room.free_gpus()),
                         .gain_s_per_gpu = share.gain,
                         .next_gpus = share.refused};
    }
    return out;
}

}  // namespace ringrt::policy

// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringsim/verdict.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/slurm/plugin_run.h"
#include "tools/ringsim/format.h"

namespace ringrt::sim {
namespace {

constexpr std::size_t kUsersShown = 12;

// "1 job", "2 jobs".
std::string counted(std::size_t count, const char *one, const char *many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

void add(Group &group, const JobSpec &spec, const JobResult &before, const JobResult &after) {
    const double was_s = before.finish_s - spec.submit_s, is_s = after.finish_s - spec.submit_s;
    ++group.jobs;
    group.later += is_s > kLaterBy * was_s;
    group.mean_before_s += was_s;
    group.mean_after_s += is_s;
    group.wait_before_s += before.start_s - spec.submit_s;
    group.wait_after_s += after.start_s - spec.submit_s;
    group.worst = std::max(group.worst, is_s / std::max(1e-9, was_s));
    group.gpu_hours += before.gpu_s / 3600;
}

void average(Group &group) {
    const double jobs = std::max<double>(1, double(group.jobs));
    for (double *sum :
         {&group.mean_before_s, &group.mean_after_s, &group.wait_before_s, &group.wait_after_s})
        *sum /= jobs;
}

double p99(std::vector<double> ratios) {
    if (ratios.empty()) return 0;
    const auto rank = static_cast<std::size_t>(std::ceil(0.99 * double(ratios.size()))) - 1;
    std::nth_element(ratios.begin(), ratios.begin() + long(rank), ratios.end());
    return ratios[rank];
}

std::string table_of(const char *what, const std::vector<Group> &groups) {
    std::string out = text("  %-14s %6s %10s %10s %7s %9s %9s %6s %6s\n", what, "jobs", "before",
                           "after", "change", "wait was", "wait is", "later", "worst");
    for (const Group &group : groups)
        out += text("  %-14.14s %6zu %8.2f h %8.2f h %+5.0f %% %7.2f h %7.2f h %6zu %5.1fx\n",
                    group.name.c_str(), group.jobs, group.mean_before_s / 3600,
                    group.mean_after_s / 3600, 100 * group.change(), group.wait_before_s / 3600,
                    group.wait_after_s / 3600, group.later, group.worst);
    return out;
}

// Reports nodes larger than any measured one.
void add_extrapolated(const SimOptions &sim, const std::vector<Workload> &workloads,
                      std::vector<std::string> &out) {
    std::string names;
    int measured = sim.gpus_per_node;
    for (const Workload &workload : workloads)
        for (const JobSpec &job : workload.jobs) {
            const int most = job.profile ? job.profile->measured_on_a_node : 0;
            if (most == 0 || most >= sim.gpus_per_node) continue;
            measured = std::min(measured, most);
            if ((names + ", ").find(job.application + ", ") == names.npos)
                names += (names.empty() ? "" : ", ") + job.application;
        }
    if (!names.empty())
        out.push_back(
            text("extrapolated: %d GPUs on a node step as fast as the %d that were "
                 "measured, which favours jobs that scale (%s)",
                 sim.gpus_per_node, measured, names.c_str()));
}

}  // namespace

Verdict verdict(const Workload &workload, const RunResult &before, const RunResult &after) {
    Verdict out{.workload = workload.name, .before = before.policy, .after = after.policy};
    std::map<int, Group> sizes;
    std::map<std::string, Group> users;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        const JobSpec &spec = workload.jobs[i];
        const JobResult &was = before.jobs[i], &is = after.jobs[i];
        if (was.finish_s < 0 || is.finish_s < 0) continue;
        const double worst = out.all.worst;
        add(out.all, spec, was, is);
        if (out.all.worst > worst) out.worst_job = spec.name;
        ratios.push_back((is.finish_s - spec.submit_s) /
                         std::max(1e-9, was.finish_s - spec.submit_s));
        add(sizes[spec.gpus_asked], spec, was, is);
        if (!spec.user.empty()) add(users[spec.user], spec, was, is);
    }
    average(out.all);
    out.p99_ratio = p99(std::move(ratios));
    for (auto &[gpus, group] : sizes) {
        group.name = counted(std::size_t(gpus), "GPU", "GPUs");
        average(group);
        out.sizes.push_back(group);
    }
    for (auto &[name, group] : users) {
        group.name = name;
        average(group);
        out.users.push_back(group);
    }
    std::stable_sort(out.users.begin(), out.users.end(),
                     [](const Group &a, const Group &b) { return a.gpu_hours > b.gpu_hours; });
    return out;
}

std::string one_line(const Verdict &v) {
    return text(
        "%s against %s: mean %+.0f %%; %zu of %s later, worst %.1fx%s%s; waiting %.2f h "
        "-> %.2f h",
        v.after.c_str(), v.before.c_str(), 100 * v.all.change(), v.all.later,
        counted(v.all.jobs, "job", "jobs").c_str(), v.all.worst, v.all.later > 0 ? ", job " : "",
        v.all.later > 0 ? v.worst_job.c_str() : "", v.all.wait_before_s / 3600,
        v.all.wait_after_s / 3600);
}

std::string details(const Verdict &v) {
    std::string out = table_of("size asked", v.sizes);
    if (v.users.empty()) return out;
    std::vector<Group> shown = v.users;
    if (shown.size() > kUsersShown) shown.resize(kUsersShown);
    out += "\n" + table_of("user", shown);
    std::string losers;
    for (const Group &user : v.users)
        if (user.mean_after_s > kLaterBy * user.mean_before_s)
            losers += (losers.empty() ? "" : ", ") + user.name;
    return out + "  users whose mean is later: " + (losers.empty() ? "none" : losers) + "\n";
}

std::vector<std::string> assumptions(const CompareArguments &a,
                                     const std::vector<Workload> &workloads) {
    std::vector<std::string> out;
    const SimOptions &sim = a.sim;
    out.push_back(text("%d nodes of %d GPUs%s", sim.nodes, sim.gpus_per_node,
                       a.cluster_seen ? ", as many as were in use at once (--nodes, "
                                        "--gpus-per-node)"
                                      : ""));
    out.push_back(text("a resize costs %g s, a first start %g s (--restart, --start); %s",
                       sim.restart_s, sim.start_s,
                       sim.telemetry_s > 0 ? "malleable jobs report their speed and remaining work"
                                           : "jobs report nothing"));
    ReadNotes notes;
    std::size_t jobs = 0, malleable = 0;
    for (const Workload &workload : workloads) {
        jobs += workload.jobs.size();
        for (const JobSpec &job : workload.jobs) malleable += job.gpus_max > job.gpus_min;
        notes.assumes_law |= workload.notes.assumes_law;
        notes.without_gpus += workload.notes.without_gpus;
        notes.never_ran += workload.notes.never_ran;
        notes.cut += workload.notes.cut;
    }
    out.push_back(text("%zu of %s malleable (--share, --malleable-max)", malleable,
                       counted(jobs, "job", "jobs").c_str()));
    if (notes.assumes_law)
        out.push_back(
            text("how jobs scale is not recorded: %g %% of a one-GPU step shrinks with "
                 "the GPUs (--parallel)",
                 100 * a.parallel));
    add_extrapolated(sim, workloads, out);
    out.push_back("time limits are enforced for rigid jobs only");
    if (notes.without_gpus + notes.never_ran > 0)
        out.push_back(text("left out: %zu rows without GPUs, %zu that never ran",
                           notes.without_gpus, notes.never_ran));
    if (notes.cut > 0)
        out.push_back(text("%s requested more GPUs than the cluster has and %s cut to %d",
                           counted(notes.cut, "job", "jobs").c_str(),
                           notes.cut == 1 ? "was" : "were", sim.nodes * sim.gpus_per_node));
    return out;
}

}  // namespace ringrt::sim

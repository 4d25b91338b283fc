// SPDX-License-Identifier: BSD-3-Clause
// Submits many jobs of the calling user through libslurm alone, as a hostile or busy user may: no
// sbatch, no SPANK plugin.
//
// usage: submit_many COUNT COMMAND [NAME=VALUE...]
//   gpus=N           of each job (default 1)
//   tasks=N          of each rigid job, on one node (default: as Slurm distributes them)
//   partition=P      (default: the cluster's)
//   name=TEXT        of every job (default: many)
//   name_bytes=N     names of 1 to N bytes: no two consecutive jobs are alike
//   malleable=R      the flag in every k-th job, see every
//   every=K          (default 1: in each)
//   priority=N       of every job
//   entries=N        adds N entries to the SPANK environment
//   bytes=N          adds one entry of N bytes
//   comment=TEXT, admin_comment=TEXT   of every job
// Prints how many were accepted, and the last refusal. Exit 0 if any was, 1 if none, 2 usage.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "slurm_plugin/slurm/slurm_compat.h"

namespace {

struct Order {
    long count = 0, every = 1, entries = 0, bytes = 0, priority = 0, tasks = 0;
    long name_bytes = 0;
    std::string command, malleable, tres, name, partition, comment, admin_comment;
};

std::vector<std::string> spank_environment(const Order &order, bool malleable) {
    std::vector<std::string> out;
    for (long i = 0; i < order.entries; ++i)
        out.push_back("SPANK_FORGED_" + std::to_string(i) + "=" + std::string(20, 'x'));
    if (order.bytes > 0)
        out.push_back("SPANK_MALLEABLE_GRACE_=" +
                      std::string(static_cast<std::size_t>(order.bytes), '9'));
    if (malleable) out.push_back("SPANK_MALLEABLE=" + order.malleable);
    return out;
}

int submit(const Order &order, long index, bool malleable) {
    job_desc_msg_t job;
    slurm_init_job_desc_msg(&job);
    std::string script = "#!/bin/sh\n" + order.command + "\n", path = "PATH=/usr/bin:/bin";
    const char *conf_file = std::getenv("SLURM_CONF");  // for the job's own requests to Slurm
    std::string conf = std::string("SLURM_CONF=") + (conf_file != nullptr ? conf_file : "");
    std::string partition = order.partition;
    char *environment[] = {path.data(), conf.data(), nullptr};
    std::vector<std::string> spank = spank_environment(order, malleable);
    std::vector<char *> entries;
    for (std::string &entry : spank) entries.push_back(entry.data());
    std::string name = order.name;
    if (order.name_bytes > 0)
        name.assign(static_cast<std::size_t>(1 + index * 37 % order.name_bytes), 'n');
    char dir[] = "/tmp", null[] = "/dev/null";
    std::string tres = order.tres;
    job.name = name.data();
    job.work_dir = dir;
    job.std_out = job.std_err = null;
    job.script = script.data();
    job.environment = environment;
    job.env_size = conf_file != nullptr ? 2 : 1;
    job.partition = partition.empty() ? nullptr : partition.data();
    job.user_id = getuid();
    job.group_id = getgid();
    std::string comment = order.comment, admin_comment = order.admin_comment;
    if (!comment.empty()) job.comment = comment.data();
    if (!admin_comment.empty()) job.admin_comment = admin_comment.data();
    job.min_cpus = 1;
    job.time_limit = 600;
    job.tres_per_job = tres.empty() ? nullptr : tres.data();
    if (order.priority > 0) job.priority = static_cast<uint32_t>(order.priority);
    if (order.tasks > 0 && !malleable) {
        job.num_tasks = job.min_cpus = static_cast<uint32_t>(order.tasks);
        job.ntasks_per_node = static_cast<uint16_t>(order.tasks);
        job.min_nodes = job.max_nodes = 1;
    }
    job.spank_job_env = entries.data();
    job.spank_job_env_size = static_cast<uint32_t>(entries.size());
    submit_response_msg_t *answer = nullptr;
    const int rc = slurm_submit_batch_job(&job, &answer);
    const int error = errno;
    if (answer != nullptr) slurm_free_submit_response_response_msg(answer);
    errno = error;
    return rc;
}

bool parse(int argc, char **argv, Order &order) {
    std::map<std::string, std::string> given{{"gpus", "1"}};
    if (argc < 3) return false;
    order.count = std::atol(argv[1]);
    order.command = argv[2];
    for (int i = 3; i < argc; ++i) {
        const std::string text = argv[i];
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) return false;
        given[text.substr(0, equals)] = text.substr(equals + 1);
    }
    const auto number = [&](const char *name, long otherwise) {
        return given.contains(name) ? std::atol(given[name].c_str()) : otherwise;
    };
    order.every = number("every", 1);
    order.entries = number("entries", 0);
    order.bytes = number("bytes", 0);
    order.priority = number("priority", 0);
    order.tasks = number("tasks", 0);
    order.name_bytes = number("name_bytes", 0);
    order.malleable = given["malleable"];
    order.partition = given["partition"];
    order.comment = given["comment"];
    order.admin_comment = given["admin_comment"];
    order.name = given.contains("name") ? given["name"] : "many";
    if (given["gpus"] != "0")
        order.tres = std::string(ringrt::slurm::kGpuTres) + ":" + given["gpus"];
    return order.count > 0 && order.every > 0;
}

}  // namespace

int main(int argc, char **argv) {
    Order order;
    if (!parse(argc, argv, order)) {
        std::fprintf(stderr, "usage: submit_many COUNT COMMAND [NAME=VALUE...]\n");
        return 2;
    }
    slurm_init(nullptr);
    long accepted = 0;
    std::string refusal;
    for (long i = 0; i < order.count; ++i) {
        const bool malleable = !order.malleable.empty() && i % order.every == 0;
        if (submit(order, i, malleable) == SLURM_SUCCESS)
            ++accepted;
        else
            refusal = slurm_strerror(errno);
    }
    std::printf("%ld accepted%s%s\n", accepted,
                refusal.empty() ? "" : ", refused: ", refusal.c_str());
    return accepted > 0 ? 0 : 1;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/job_submit/start_size.h"

#include <algorithm>
#include <cstdint>

namespace ringrt::slurm {
namespace {

using records::GpuRange;
using records::Layout;

std::string text(int64_t number) { return std::to_string(number); }

std::string option(const char *name, int64_t value) {
    return std::string(name) + "=" + text(value);
}

std::string shown(GpuRange range) { return text(range.min) + ":" + text(range.max); }

Refusal refuse(const std::string &expected, const std::string &got) {
    return {expected + ", got \"" + got + "\""};
}

// A node, as the header describes it.
struct Node {
    int64_t count = 1;
    int64_t tasks = 1;
    int64_t gpus = 1;
};

// With --nodes and GPUs but without tasks, stock Slurm starts one task on each node. One task with
// several GPUs is a launcher's.
std::optional<int64_t> tasks_per_node(const Header &h) {
    if (h.tasks_per_node) return h.tasks_per_node;
    if (h.nodes && h.tasks && *h.tasks % *h.nodes == 0) return *h.tasks / *h.nodes;
    if (h.nodes && !h.tasks && !h.gpus_per_task && (h.gpus || h.gpus_per_node)) return 1;
    if (!h.nodes && h.tasks == 1 && std::max(h.gpus.value_or(1), h.gpus_per_node.value_or(1)) > 1)
        return 1;
    return std::nullopt;
}

Node node_of(const Header &h, int64_t tasks) {
    Node node{.tasks = tasks};
    if (h.nodes)
        node.count = *h.nodes;
    else if (h.tasks)
        node.count = std::max<int64_t>(1, *h.tasks / tasks);
    else if (h.gpus && h.gpus_per_node)
        node.count = std::max(1, *h.gpus / *h.gpus_per_node);
    if (h.gpus_per_node)
        node.gpus = *h.gpus_per_node;
    else if (h.gpus)
        node.gpus = std::max<int64_t>(1, *h.gpus / node.count);
    else
        node.gpus = tasks * h.gpus_per_task.value_or(1);
    return node;
}

std::optional<Refusal> check_node(const Header &h, const Node &node) {
    const auto in_all = [&](int64_t each) {
        return text(node.count * each) + " (" + text(node.count) + " x " + text(each) + ")";
    };
    if (h.tasks && *h.tasks != node.count * node.tasks)
        return refuse("--malleable: expected the tasks to be nodes times tasks per node, " +
                          in_all(node.tasks),
                      option("--ntasks", *h.tasks));
    if (h.gpus && *h.gpus != node.count * node.gpus)
        return refuse(
            "--malleable: expected the GPUs to be nodes times GPUs per node, " + in_all(node.gpus),
            option("--gpus", *h.gpus));
    if (node.tasks != 1 && node.tasks != node.gpus)
        return refuse(
            "--malleable: expected one task per GPU, or one task per node (for example "
            "--ntasks-per-node=" +
                text(node.gpus) + ")",
            text(node.tasks) + " tasks and " + text(node.gpus) + " GPUs a node");
    if (h.gpus_per_task && *h.gpus_per_task * node.tasks != node.gpus)
        return refuse("--malleable: expected the GPUs per node divided by the tasks per node, " +
                          option("--gpus-per-task", node.gpus / node.tasks),
                      option("--gpus-per-task", *h.gpus_per_task));
    return std::nullopt;
}

// At every size, the nodes that the header's GPUs per node fill must share the GPUs evenly.
std::optional<Refusal> check_ladder(GpuRange range, const Layout &layout) {
    for (int64_t gpus = range.min; gpus <= range.max; gpus *= 2) {
        const int64_t nodes = (gpus - 1) / layout.gpus_per_node + 1;
        if (gpus % nodes == 0) continue;
        const GpuRange right{.min = layout.gpus_per_node, .max = 4 * layout.gpus_per_node};
        return refuse("--malleable: expected sizes that nodes of " + text(layout.gpus_per_node) +
                          " GPUs can share evenly (for example " + shown(right) + ")",
                      shown(range));
    }
    return std::nullopt;
}

// For a header without tasks per node: the number of GPUs, however it is given. 0: MIN.
std::variant<int64_t, Refusal> gpus_in_all(const Header &h) {
    const int64_t tasks = h.tasks.value_or(0);
    if (h.gpus_per_task.value_or(1) != 1)
        return refuse("--malleable: expected one GPU per task (for example --gpus-per-task=1)",
                      option("--gpus-per-task", *h.gpus_per_task));
    if (h.nodes && tasks > 0)
        return refuse(
            "--malleable: expected the same number of tasks on each node (for example "
            "--ntasks-per-node=1)",
            option("--nodes", *h.nodes) + " " + option("--ntasks", tasks));
    if (h.nodes.value_or(1) > 1)
        return refuse(
            "--malleable: expected the GPUs per node as well (for example --gpus-per-node=1)",
            option("--nodes", *h.nodes));
    if (h.gpus_per_node && h.gpus && *h.gpus % *h.gpus_per_node != 0)
        return refuse(
            "--malleable: expected a multiple of the GPUs per node, " + text(*h.gpus_per_node),
            option("--gpus", *h.gpus));
    int64_t gpus = h.gpus ? *h.gpus : h.gpus_per_node.value_or(0);
    if (!h.gpus && h.gpus_per_node && tasks > 0 && tasks % gpus == 0) gpus = tasks;
    if (gpus > 0 && tasks > 0 && gpus != tasks)
        return refuse(
            "--malleable: expected one task per GPU (for example --ntasks=" + text(gpus) + ")",
            option("--ntasks", tasks));
    return gpus > 0 ? gpus : tasks;
}

// Rounds down to a size of the ladder, at least MIN.
void choose_size(int64_t asked, GpuRange range, Start &start) {
    start.gpus = range.min;
    while (2LL * start.gpus <= std::min<int64_t>(asked, range.max)) start.gpus *= 2;
    if (asked == start.gpus) return;
    start.note = "--malleable=" + shown(range) + ": the header requests " + text(asked) +
                 ", not one of its sizes (MIN, 2 MIN, 4 MIN, ... up to MAX): it is taken as " +
                 text(start.gpus);
}

}  // namespace

std::variant<Start, Refusal> start_of(const Header &header, GpuRange range) {
    if (header.cpus_per_gpu && header.cpus_per_task)
        return refuse("--malleable: expected --cpus-per-task or --cpus-per-gpu, but not both",
                      option("--cpus-per-task", *header.cpus_per_task) + " " +
                          option("--cpus-per-gpu", *header.cpus_per_gpu));
    Start start;
    int64_t asked = 0;
    if (const auto tasks = tasks_per_node(header)) {
        const Node node = node_of(header, *tasks);
        if (auto refusal = check_node(header, node)) return *refusal;
        if (node.gpus > records::kGpusMax)
            return refuse("--malleable: expected at most " + text(records::kGpusMax) + " GPUs",
                          text(node.gpus) + " GPUs a node");
        start.layout = {.gpus_per_node = static_cast<int>(node.gpus),
                        .task_per_node = node.tasks < node.gpus};
        if (auto refusal = check_ladder(range, start.layout)) return *refusal;
        asked = node.count * node.gpus;
    } else {
        const auto gpus = gpus_in_all(header);
        if (const auto *refusal = std::get_if<Refusal>(&gpus)) return *refusal;
        asked = std::get<int64_t>(gpus);
    }
    start.requested = asked > 0;
    choose_size(asked > 0 ? asked : range.min, range, start);
    start.cpus_per_task = header.cpus_per_task;
    const int gpus_per_task = start.layout.task_per_node ? start.layout.gpus_per_node : 1;
    if (header.cpus_per_gpu)
        start.cpus_per_task = static_cast<int>(std::min<int64_t>(
            int64_t{*header.cpus_per_gpu} * gpus_per_task, records::kGpusMax - 2));
    return start;
}

}  // namespace ringrt::slurm

// SPDX-License-Identifier: GPL-2.0-or-later
// What a batch script's header becomes: a start size and a layout, or one line that names the
// contradiction.
#include <initializer_list>
#include <string>

#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/job_submit/start_size.h"
#include "slurm_plugin/slurm/slurm_compat.h"
#include "tests/support/check.h"

using namespace ringrt::slurm;
using ringrt::records::GpuRange;
using ringrt::records::Layout;

namespace {

struct Row {
    const char *written;
    Header header;
    GpuRange range;
    int gpus, gpus_per_node;
    bool task_per_node = false;
    bool is_told = false;
};

Start accepted(const Header &header, GpuRange range, const char *what) {
    const auto got = start_of(header, range);
    const auto *refusal = std::get_if<Refusal>(&got);
    ck_assert_msg(refusal == nullptr, "%s: %s", what, refusal ? refusal->message.c_str() : "");
    return std::get<Start>(got);
}

std::string refused(const Header &header, GpuRange range) {
    const auto got = start_of(header, range);
    const auto *refusal = std::get_if<Refusal>(&got);
    ck_assert_msg(refusal != nullptr, "accepted with %d GPUs", std::get<Start>(got).gpus);
    ck_assert(refusal->message.starts_with("--malleable: expected "));
    ck_assert(refusal->message.find('\n') == std::string::npos);
    return refusal->message;
}

// Each header as the frameworks' documents or generators write it.
const Row kRows[] = {
    {"nothing", {}, {2, 8}, 2, 0},
    {"--gpus=4", {.gpus = 4}, {1, 8}, 4, 0},
    {"--ntasks=4", {.tasks = 4}, {1, 8}, 4, 0},
    {"--gres=gpu:1", {.gpus_per_node = 1}, {1, 8}, 1, 0},
    {"--gres=gpu:4 --ntasks=4", {.tasks = 4, .gpus_per_node = 4}, {1, 8}, 4, 0},
    {"--gpus=4 --gpus-per-task=1", {.gpus = 4, .gpus_per_task = 1}, {1, 8}, 4, 0},
    {"--nodes=1", {.nodes = 1}, {1, 8}, 1, 0},
    // submitit: always nodes and tasks
    {"submitit, 2 GPUs", {.nodes = 1, .tasks_per_node = 2, .gpus_per_node = 2}, {1, 8}, 2, 2},
    {"submitit, 2 GPUs, as sbatch sends it",
     {.nodes = 1, .tasks = 2, .tasks_per_node = 2, .gpus_per_node = 2},
     {1, 8},
     2,
     2},
    {"submitit, 1 GPU", {.nodes = 1, .tasks_per_node = 1, .gpus_per_node = 1}, {1, 8}, 1, 1},
    {"submitit, tasks alone", {.nodes = 1, .tasks_per_node = 2}, {1, 8}, 2, 2},
    // Lightning's and Hugging Face's documents
    {"Lightning: --nodes=4 --gres=gpu:8 --ntasks-per-node=8",
     {.nodes = 4, .tasks_per_node = 8, .gpus_per_node = 8},
     {8, 64},
     32,
     8},
    {"accelerate: --nodes=4 --ntasks-per-node=1 --gres=gpu:4",
     {.nodes = 4, .tasks_per_node = 1, .gpus_per_node = 4},
     {4, 32},
     16,
     4,
     true},
    {"accelerate, one node: --ntasks-per-node=1 --gres=gpu:4",
     {.tasks_per_node = 1, .gpus_per_node = 4},
     {1, 8},
     4,
     4,
     true},
    // PyTorch's examples
    {"torchrun: --nodes=4 --ntasks=4 --gpus-per-task=1",
     {.nodes = 4, .tasks = 4, .gpus_per_task = 1},
     {1, 8},
     4,
     1},
    {"torchrun: --nodes=2 --gpus-per-node=4",
     {.nodes = 2, .gpus_per_node = 4},
     {4, 16},
     8,
     4,
     true},
    {"torchrun --standalone: --ntasks=1 --gpus=4", {.tasks = 1, .gpus = 4}, {1, 8}, 4, 4, true},
    {"--nodes=2 --ntasks-per-node=1 --gpus-per-task=4",
     {.nodes = 2, .tasks_per_node = 1, .gpus_per_task = 4},
     {4, 16},
     8,
     4,
     true},
    {"--nodes=2 --ntasks-per-node=2 --gpus=4",
     {.nodes = 2, .tasks_per_node = 2, .gpus = 4},
     {1, 8},
     4,
     2},
    // Rounded to the ladder
    {"--gpus=3", {.gpus = 3}, {1, 8}, 2, 0, false, true},
    {"--gpus=16", {.gpus = 16}, {1, 8}, 8, 0, false, true},
    {"--gpus=1 of 2:8", {.gpus = 1}, {2, 8}, 2, 0, false, true},
    {"three nodes of two",
     {.nodes = 3, .tasks_per_node = 2, .gpus_per_node = 2},
     {2, 8},
     4,
     2,
     false,
     true},
    {"nodes of three, 3:12", {.nodes = 1, .tasks_per_node = 3, .gpus_per_node = 3}, {3, 12}, 3, 3},
    {"nodes of four, 3:12: 3, 3 + 3, 4 + 4 + 4",
     {.nodes = 1, .tasks_per_node = 4, .gpus_per_node = 4},
     {3, 12},
     3,
     4,
     false,
     true},
};

}  // namespace

TEST(headers_become_a_size_and_a_layout) {
    for (const Row &row : kRows) {
        const Start start = accepted(row.header, row.range, row.written);
        ck_assert_msg(start.gpus == row.gpus && start.layout.gpus_per_node == row.gpus_per_node &&
                          start.layout.task_per_node == row.task_per_node,
                      "%s: %d GPUs, %d a node, %s", row.written, start.gpus,
                      start.layout.gpus_per_node,
                      start.layout.task_per_node ? "one task a node" : "one task a GPU");
        ck_assert_msg(start.note.empty() != row.is_told, "%s: \"%s\"", row.written,
                      start.note.c_str());
    }
}

TEST(a_size_that_no_option_gives_is_not_requested) {
    for (const Header &none : {Header{}, Header{.nodes = 1}, Header{.cpus_per_task = 4}})
        ck_assert(!accepted(none, {1, 8}, "none").requested);
    for (const Header &one : {Header{.tasks = 1}, Header{.gpus = 1}, Header{.gpus_per_node = 1}})
        ck_assert(accepted(one, {1, 8}, "one").requested);
    ck_assert(accepted({.nodes = 1, .tasks_per_node = 1}, {1, 8}, "submitit").requested);
    ck_assert(accepted({.gpus = 1}, {2, 8}, "below MIN").requested);
}

TEST(contradictions_are_refused) {
    const auto has = [](const std::string &message, const char *part) {
        ck_assert_msg(message.find(part) != std::string::npos, "%s", message.c_str());
    };
    has(refused({.nodes = 2, .tasks = 3, .tasks_per_node = 2}, {1, 8}),
        "4 (2 x 2), got \"--ntasks=3\"");
    has(refused({.nodes = 2, .tasks = 3}, {1, 8}), "got \"--nodes=2 --ntasks=3\"");
    has(refused({.nodes = 2, .gpus = 6, .gpus_per_node = 2}, {1, 8}),
        "4 (2 x 2), got \"--gpus=6\"");
    has(refused({.nodes = 1, .tasks_per_node = 2, .gpus_per_node = 4}, {1, 8}),
        "got \"2 tasks and 4 GPUs a node\"");
    has(refused({.nodes = 1, .tasks_per_node = 4, .gpus_per_node = 2}, {1, 8}),
        "got \"4 tasks and 2 GPUs a node\"");
    has(refused({.nodes = 1, .tasks_per_node = 2, .gpus_per_node = 2, .gpus_per_task = 2}, {1, 8}),
        "got \"--gpus-per-task=2\"");
    has(refused({.gpus_per_task = 2}, {1, 8}), "got \"--gpus-per-task=2\"");
    has(refused({.tasks = 2, .gpus = 4}, {1, 8}), "(for example --ntasks=4), got \"--ntasks=2\"");
    has(refused({.nodes = 2}, {1, 8}), "got \"--nodes=2\"");
    has(refused({.gpus = 3, .gpus_per_node = 2}, {1, 8}), "got \"--gpus=3\"");
    has(refused({.cpus_per_task = 2, .cpus_per_gpu = 2}, {1, 8}), "--cpus-per-gpu=2");
    has(refused({.nodes = 1, .tasks_per_node = 2, .gpus_per_node = 2}, {3, 12}),
        "share evenly (for example 2:8), got \"3:12\"");
}

TEST(cpus_scale_with_the_tasks) {
    const auto cpus = [](const Header &header) {
        return accepted(header, {1, 8}, "cpus").cpus_per_task.value_or(0);
    };
    ck_assert_int_eq(cpus({.gpus = 2}), 0);
    ck_assert_int_eq(cpus({.gpus = 2, .cpus_per_task = 6}), 6);
    ck_assert_int_eq(cpus({.gpus = 2, .cpus_per_gpu = 6}), 6);
    ck_assert_int_eq(cpus({.tasks_per_node = 1, .gpus_per_node = 4, .cpus_per_gpu = 6}), 24);
    ck_assert_int_eq(cpus({.tasks_per_node = 2, .gpus_per_node = 2, .cpus_per_gpu = 6}), 6);
}

// For any numbers: no overflow, the size is on the ladder, and the layout holds at each size.
TEST(any_header_is_survived) {
    const std::optional<int> values[] = {std::nullopt, 1, 2, 3, 4, 1000, ringrt::records::kGpusMax};
    constexpr std::size_t kValues = std::size(values);
    std::size_t combinations = 1;
    for (int i = 0; i < 6; ++i) combinations *= kValues;
    for (std::size_t n = 0; n < combinations; ++n) {
        std::size_t rest = n;
        const auto next = [&] {
            const std::optional<int> value = values[rest % kValues];
            rest /= kValues;
            return value;
        };
        const Header header{.nodes = next(),
                            .tasks = next(),
                            .tasks_per_node = next(),
                            .gpus = next(),
                            .gpus_per_node = next(),
                            .gpus_per_task = next()};
        for (const GpuRange range : {GpuRange{1, 8}, {3, 12}, {2, 65536}}) {
            const auto got = start_of(header, range);
            const auto *start = std::get_if<Start>(&got);
            if (start == nullptr) continue;
            ck_assert(ringrt::records::on_ladder(range, start->gpus));
            const Layout &layout = start->layout;
            for (int64_t gpus = range.min; gpus <= range.max; gpus *= 2) {
                const int size = static_cast<int>(gpus);
                const int nodes = nodes_of(layout, size, 4);
                ck_assert(nodes >= 1 && nodes <= size);
                if (layout.gpus_per_node > 0) ck_assert_int_le(size, nodes * layout.gpus_per_node);
                const int tasks = tasks_of(layout, size, nodes);
                ck_assert_int_eq(tasks, layout.task_per_node ? nodes : size);
            }
        }
    }
}

// --gpus-per-task=a100:1 requests that type at every size.
TEST(a_jobs_gpus_stay_of_their_type) {
    using ringrt::slurm::with_gpus;
    using ringrt::slurm::without_gpus;
    const std::string plain = ringrt::slurm::kGpuTres;
    EXPECT_TEXT(with_gpus("", "", 4), plain + ":4");
    EXPECT_TEXT(with_gpus("gres:gpu:a100:2", "", 4), "gres:gpu:a100:4");
    EXPECT_TEXT(with_gpus("", "gres:gpu:a100:1", 4), "gres:gpu:a100:4");
    EXPECT_TEXT(with_gpus("gres:gpu:1", "gres:gpu:a100:1", 2), "gres:gpu:2");
    EXPECT_TEXT(with_gpus("gres:nic:1,gres:gpu:2", "", 4), "gres:gpu:4,gres:nic:1");
    EXPECT_TEXT(without_gpus("cpu:10,gres/gpu:gtx:1,license/iop1:1"), "cpu:10,license/iop1:1");
    EXPECT_TEXT(without_gpus("gres:gpu"), "");
    EXPECT_TEXT(without_gpus(""), "");
}

int main() { return ringrt::test::run_all("start_size"); }

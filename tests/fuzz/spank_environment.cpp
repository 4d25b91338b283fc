// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK environment and the resource texts of a submission, as lines of the input. A raw
// libslurm client can forge them, and slurmctld reads them.
#include <vector>

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/job_submit/submit_check.h"
#include "tests/fuzz/fuzz.h"

using namespace ringrt::slurm;
using namespace ringrt::fuzz;

namespace {

void check_refusal(const std::optional<Refusal> &refusal) {
    if (refusal) expect(is_one_line(refusal->message, 600), "a refusal is one line");
}

void check_flags(const Flags &flags) {
    expect(flags.range.min >= 1 && flags.range.min <= flags.range.max, "MIN <= MAX");
    expect(flags.signal >= 1 && flags.signal <= 64 && flags.grace_s >= 1, "signal and grace time");
}

// Lines that are not environment entries are the texts of --gpus and similar options, in turn.
struct Job {
    std::vector<std::string> environment, texts;
    std::vector<char *> entries;
    job_desc_msg_t description{};

    explicit Job(std::string_view rest) {
        while (!rest.empty()) {
            const std::string_view line = take_until(rest, '\n');
            const bool is_entry = line.find('=') != line.npos;
            (is_entry ? environment : texts).emplace_back(line);
        }
        for (std::string &entry : environment) entries.push_back(entry.data());
        description.spank_job_env = entries.data();
        description.spank_job_env_size = static_cast<uint32_t>(entries.size());
        char **fields[] = {&description.tres_per_job,  &description.tres_per_task,
                           &description.tres_per_node, &description.tres_per_socket,
                           &description.cpus_per_tres, &description.array_inx,
                           &description.req_nodes,     &description.script};
        for (size_t i = 0; i < std::size(fields); ++i)
            *fields[i] = i < texts.size() && !texts[i].empty() ? texts[i].data() : nullptr;
        description.num_tasks = texts.size() % 2 == 0 ? NO_VAL : 2;
        description.min_nodes = description.max_nodes = environment.size() % 2 == 0 ? NO_VAL : 2;
        description.ntasks_per_node = texts.size() % 3 == 0 ? NO_VAL16 : 2;
    }
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Job job(text_of(data, size));
    check_refusal(refuse_kind(job.description));
    check_refusal(refuse_layout(job.description));
    const auto asked = flags_of(job.description);
    if (!asked) return 0;
    if (const auto *refusal = std::get_if<Refusal>(&*asked)) {
        check_refusal(*refusal);
        return 0;
    }
    const Flags flags = std::get<Flags>(*asked);
    check_flags(flags);
    check_refusal(refuse_partition(flags, job.description.array_inx, {.gpus_in_all = 4}));
    expect(gpu_type(job.description).size() <= 300, "a GPU type is bounded");
    const auto header = header_of(job.description);
    if (const auto *refusal = std::get_if<Refusal>(&header)) {
        check_refusal(*refusal);
        return 0;
    }
    const auto chosen = start_of(std::get<Header>(header), flags.range);
    if (const auto *refusal = std::get_if<Refusal>(&chosen)) {
        check_refusal(*refusal);
        return 0;
    }
    const Start &start = std::get<Start>(chosen);
    expect(on_ladder(flags.range, start.gpus), "the start size is on the ladder");
    expect(start.note.empty() || is_one_line(start.note, 600), "the note is one line");
    check_refusal(refuse_node(flags.range, start.layout, job.description.array_inx,
                              {.gpus_per_node = 4, .nodes = 3}));
    return 0;
}

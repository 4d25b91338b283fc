// SPDX-License-Identifier: BSD-3-Clause
// ElasticFlow traces: job_id, submission_time (s), duration (s), num_gpu; and its throughput
// tables, MODEL.csv: global_batch_size, then measured steps/s on 1, 2, 4, … GPUs (0 or empty: not
// measured).
//
// The traces do not tell what a job trained. Each job gets a random model and batch size (by the
// seed) among those measured at its number of GPUs, and the steps that give its recorded duration.
#include <algorithm>
#include <random>

#include "sim/workload/csv.h"
#include "sim/workload/workload.h"

namespace ringrt::sim {
namespace {

constexpr double kStepsPerSecondMin = 1e-9;  // a step in thirty years: not measured

struct Measured {
    std::string name;  // MODEL-bBATCH
    int batch = 0;
    std::vector<int> sizes;
    std::vector<double> step_s;
};

void add_table(TextFile file, std::vector<Measured> &out) {
    const std::string model(stem(file.path));
    const Table table(std::move(file), ',');
    const std::size_t batch = table.column("global_batch_size");
    for (std::size_t row = 0; row < table.rows(); ++row) {
        Measured measured{.batch = table.integer(row, batch, 1, 1 << 24)};
        measured.name = model + "-b" + std::to_string(measured.batch);
        for (std::size_t column = 0; column < table.header().size(); ++column) {
            if (column == batch || table.text(row, column).empty()) continue;
            const auto gpus = parse_number(table.header()[column]);
            if (!gpus || *gpus < 1 || *gpus > 65536)
                table.fail(row, "header: expected numbers of GPUs after global_batch_size");
            const double steps_per_s = table.number(row, column, 0, 1e9);
            if (steps_per_s < kStepsPerSecondMin) continue;
            measured.sizes.push_back(static_cast<int>(*gpus));
            measured.step_s.push_back(1 / steps_per_s);
        }
        if (!measured.sizes.empty()) out.push_back(std::move(measured));
    }
}

const Measured *pick(const std::vector<Measured> &models, int gpus, std::mt19937_64 &random) {
    std::vector<const Measured *> fitting;
    for (const Measured &model : models)
        if (std::binary_search(model.sizes.begin(), model.sizes.end(), gpus))
            fitting.push_back(&model);
    return fitting.empty() ? nullptr : fitting[random() % fitting.size()];
}

}  // namespace

Workload parse_elasticflow(TextFile file, std::vector<TextFile> tables,
                           const WorkloadOptions &options) {
    std::vector<Measured> models;
    for (TextFile &throughputs : tables) add_table(std::move(throughputs), models);
    if (models.empty()) throw InputError(file.path + ": no throughput tables (MODEL.csv) for it");
    const Table table(std::move(file), ',');
    const std::size_t id = table.column("job_id"), submit = table.column("submission_time"),
                      duration = table.column("duration"), gpus = table.column("num_gpu");
    std::mt19937_64 random(options.seed);
    Workload workload;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        JobSpec job;
        job.name = printable(table.text(row, id)).substr(0, 13);
        job.submit_s = table.number(row, submit, 0, 1e12);
        const double seconds = table.number(row, duration, 0, 1e9);
        job.restart_s = table.number_or(row, "restart_s", 0, 1e6, -1);
        job.gpus_asked = table.integer(row, gpus, 1, 65536);
        if (job.gpus_asked > options.cluster_gpus)
            table.fail(row, "num_gpu: more than the cluster has (" +
                                std::to_string(options.cluster_gpus) + ")");
        const Measured *model = pick(models, job.gpus_asked, random);
        if (!model) table.fail(row, "num_gpu: no throughput table has this size");
        const auto asked =
            std::lower_bound(model->sizes.begin(), model->sizes.end(), job.gpus_asked) -
            model->sizes.begin();
        auto profile = curve_profile(model->name, model->sizes, model->step_s,
                                     std::max(1.0, seconds / model->step_s[asked]));
        profile->batch = {.initial = model->batch,
                          .total_max = model->batch,
                          .local_min = 1,
                          .local_max = model->batch};
        job.application = model->name;
        job.batch = model->batch;
        job.gpus_min = model->sizes.front();
        job.gpus_limit = std::min(model->sizes.back(), options.malleable_max);
        job.gpus_max = job.gpus_min;
        while (job.gpus_max <= job.gpus_limit / 2) job.gpus_max *= 2;
        job.profile = std::move(profile);
        workload.jobs.push_back(std::move(job));
    }
    return workload;
}

}  // namespace ringrt::sim

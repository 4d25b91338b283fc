// SPDX-License-Identifier: BSD-3-Clause
// Applications measured for Pollux (Qiao et al., OSDI 2021): step times of a few GPUs on up to four
// nodes for every placement (placements.csv), of up to 64 GPUs on 6, 8, 12 and 16 nodes
// (scalability.csv), and the statistics of whole trainings at several batch sizes.
//
// A measured placement is interpolated only over the local batch. Other placements are interpolated
// linearly between the two nearest node counts at the same density (GPUs per node), there between
// the two nearest GPU counts, and there over the local batch.
// there between the two nearest GPU counts, there over the local batch.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "sim/workload/csv.h"
#include "sim/workload/profile.h"

namespace ringrt::sim {
namespace {

// Step times by local batch, ascending.
struct BatchCurve {
    std::vector<double> local;
    std::vector<StepTime> time;

    void add(double batch, StepTime value) {
        const auto at = std::lower_bound(local.begin(), local.end(), batch) - local.begin();
        local.insert(local.begin() + at, batch);
        time.insert(time.begin() + at, value);
    }
    [[nodiscard]] StepTime at(double batch) const {
        if (batch <= local.front()) return time.front();
        if (batch >= local.back()) return beyond(batch);
        const auto k = static_cast<std::size_t>(
            std::upper_bound(local.begin(), local.end(), batch) - local.begin());
        return mix(time[k - 1], time[k], (batch - local[k - 1]) / (local[k] - local[k - 1]));
    }
    static StepTime mix(StepTime a, StepTime b, double part) {
        return {.step_s = std::lerp(a.step_s, b.step_s, part),
                .sync_s = std::lerp(a.sync_s, b.sync_s, part)};
    }

  private:
    // Beyond the measured batches the computing time grows in proportion; the exchange does not.
    [[nodiscard]] StepTime beyond(double batch) const {
        StepTime last = time.back();
        last.step_s += (last.step_s - last.sync_s) * (batch / local.back() - 1);
        return last;
    }
};

// A whole training at one batch size, one row per epoch.
struct Training {
    int batch = 0;
    std::vector<double> progress, steps, gradient_square, gradient_variance;
};

std::string rotated_least(const Shape &shape) {
    std::string key(shape.begin(), shape.end());
    if (std::adjacent_find(key.begin(), key.end(), std::not_equal_to<>()) == key.end()) return key;
    std::string best = key;
    for (std::size_t i = 1; i < key.size(); ++i) {
        std::rotate(key.begin(), key.begin() + 1, key.end());
        best = std::min(best, key);
    }
    return best;
}

class PolluxProfile final : public Profile {
  public:
    PolluxProfile(const std::string &application, std::vector<TextFile> files,
                  const std::string &gpu_type);
    StepTime step_time(const Shape &shape, double local_batch) const override;
    double step_progress(int total_batch, int epoch) const override;
    Gradient gradient(int total_batch, int epoch) const override;
    double steps_until(int total_batch, int epoch) const override;
    const std::vector<double> &epoch_ends() const override { return ends_; }

  private:
    void read_placements(TextFile file);
    void read_scalability(TextFile file);
    void read_training(TextFile file, int batch);
    void find_epoch_ends();
    [[nodiscard]] StepTime on_nodes(int nodes, double gpus, double local_batch) const;
    // The measured trainings on both sides of a batch, and its position between them (0..1).
    struct Between {
        const Training &low, &high;
        double part;
    };
    [[nodiscard]] Between around(int total_batch) const;

    std::unordered_map<std::string, BatchCurve> placements_;  // by rotated_least
    std::map<int, std::map<int, BatchCurve>> by_nodes_;       // nodes, then GPUs
    std::vector<Training> trainings_;                         // ascending batch
    std::vector<double> ends_;
};

// The exchange is part of its step; otherwise a step of a larger batch could take negative time.
StepTime read_step_time(const Table &table, std::size_t row, std::size_t step, std::size_t sync) {
    StepTime time{.step_s = table.number(row, step, 1e-9, 1e6)};
    time.sync_s = table.number(row, sync, 0, time.step_s);
    return time;
}

void PolluxProfile::read_placements(TextFile file) {
    const Table table(std::move(file), ',');
    const std::size_t placement = table.column("placement"), local = table.column("local_bsz"),
                      step = table.column("step_time"), sync = table.column("sync_time");
    // Means over the placements of equal node count, GPU count and local batch.
    std::map<std::array<int, 3>, std::pair<StepTime, int>> sums;
    int local_min = std::numeric_limits<int>::max(), local_max = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        Shape shape;
        if (table.text(row, placement).empty()) table.fail(row, "placement: empty");
        for (const char c : table.text(row, placement)) {
            if (c < '1' || c > '9') table.fail(row, "placement: expected digits 1..9, one a node");
            shape.push_back(static_cast<uint8_t>(c - '0'));
        }
        const int samples = table.integer(row, local, 1, 1 << 24);
        const StepTime time = read_step_time(table, row, step, sync);
        placements_[rotated_least(shape)].add(samples, time);
        auto &[sum, count] = sums[{int(shape.size()), gpus_of(shape), samples}];
        sum.step_s += time.step_s;
        sum.sync_s += time.sync_s;
        ++count;
        local_min = std::min(local_min, samples);
        local_max = std::max(local_max, samples);
    }
    for (const auto &[key, value] : sums)
        by_nodes_[key[0]][key[1]].add(key[2], {.step_s = value.first.step_s / value.second,
                                               .sync_s = value.first.sync_s / value.second});
    if (placements_.empty()) throw InputError(table.path() + ": no measurements");
    batch.local_min = local_min;
    batch.local_max = local_max;
}

void PolluxProfile::read_scalability(TextFile file) {
    const Table table(std::move(file), ',');
    const std::size_t nodes = table.column("num_nodes"), gpus = table.column("num_replicas"),
                      local = table.column("local_bsz"), step = table.column("step_time"),
                      sync = table.column("sync_time");
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const int on = table.integer(row, nodes, 1, 65536);
        const int of = table.integer(row, gpus, on, 65536);
        by_nodes_[on][of].add(table.integer(row, local, 1, 1 << 24),
                              read_step_time(table, row, step, sync));
    }
}

void PolluxProfile::read_training(TextFile file, int batch_size) {
    const Table table(std::move(file), ',');
    const std::size_t progress = table.column("progress"), steps = table.column("iteration"),
                      square = table.column("grad_sqr"), variance = table.column("grad_var");
    Training training;
    training.batch = batch_size;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        training.progress.push_back(table.number(row, progress, 0, 1e30));
        training.steps.push_back(table.number(row, steps, 0, 1e15));
        training.gradient_square.push_back(table.number(row, square, 0, 1e30));
        training.gradient_variance.push_back(table.number(row, variance, 0, 1e30));
    }
    if (training.progress.empty()) throw InputError(table.path() + ": no epochs");
    trainings_.push_back(std::move(training));
}

PolluxProfile::PolluxProfile(const std::string &application, std::vector<TextFile> files,
                             const std::string &gpu_type) {
    const std::string of_type = gpu_type.empty() ? "" : "-" + gpu_type;
    constexpr std::string_view kTraining = "validation-";
    name = application;
    std::map<int, TextFile *> trainings;
    for (TextFile &file : files) {
        const std::string_view about = stem(file.path);
        if (about == "placements" + of_type) {
            read_placements(std::move(file));
        } else if (about == "scalability" + of_type) {
            read_scalability(std::move(file));
        } else if (about.starts_with(kTraining)) {
            const auto batch_size = parse_number(about.substr(kTraining.size()));
            if (!batch_size || *batch_size < 1 || *batch_size > (1 << 24))
                throw InputError(file.path + ": expected validation-BATCH.csv");
            trainings[static_cast<int>(*batch_size)] = &file;
        }
    }
    for (const auto &[size, file] : trainings) read_training(std::move(*file), size);
    if (placements_.empty())
        throw InputError(application + ": no placements.csv" +
                         (gpu_type.empty() ? "" : " of type " + gpu_type));
    if (trainings_.empty()) throw InputError(application + ": no validation-BATCH.csv");
    find_epoch_ends();
    if (const auto one = by_nodes_.find(1); one != by_nodes_.end())
        measured_on_a_node = one->second.rbegin()->first;
}

void PolluxProfile::find_epoch_ends() {
    batch.initial = trainings_.front().batch;
    batch.total_max = trainings_.back().batch;
    std::size_t epochs = trainings_.front().progress.size();
    for (const Training &training : trainings_) epochs = std::min(epochs, training.progress.size());
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
        double end = trainings_.front().progress[epoch];
        for (const Training &training : trainings_) end = std::min(end, training.progress[epoch]);
        ends_.push_back(std::max(end, ends_.empty() ? 0 : ends_.back()));
    }
}

StepTime PolluxProfile::on_nodes(int nodes, double gpus, double local_batch) const {
    const std::map<int, BatchCurve> &sizes = by_nodes_.at(nodes);
    const auto above = sizes.lower_bound(static_cast<int>(std::ceil(gpus - 1e-9)));
    if (above == sizes.end()) return sizes.rbegin()->second.at(local_batch);
    if (above == sizes.begin() || above->first <= gpus) return above->second.at(local_batch);
    const auto below = std::prev(above);
    return BatchCurve::mix(below->second.at(local_batch), above->second.at(local_batch),
                           (gpus - below->first) / (above->first - below->first));
}

StepTime PolluxProfile::step_time(const Shape &shape, double local_batch) const {
    const auto measured = placements_.find(rotated_least(shape));
    if (measured != placements_.end()) return measured->second.at(local_batch);
    const int gpus = gpus_of(shape);
    const int nodes = static_cast<int>(shape.size());
    const auto above = by_nodes_.lower_bound(nodes);
    if (above == by_nodes_.end()) return on_nodes(by_nodes_.rbegin()->first, gpus, local_batch);
    if (above->first == nodes || above == by_nodes_.begin())
        return on_nodes(above->first, gpus, local_batch);
    const auto below = std::prev(above);
    const double density = double(gpus) / nodes;
    return BatchCurve::mix(on_nodes(below->first, density * below->first, local_batch),
                           on_nodes(above->first, density * above->first, local_batch),
                           double(nodes - below->first) / (above->first - below->first));
}

PolluxProfile::Between PolluxProfile::around(int total_batch) const {
    const auto above = std::lower_bound(trainings_.begin(), trainings_.end(), total_batch,
                                        [](const Training &t, int b) { return t.batch < b; });
    if (above == trainings_.end()) return {trainings_.back(), trainings_.back(), 0};
    if (above == trainings_.begin() || above->batch == total_batch) return {*above, *above, 0};
    const Training &low = *std::prev(above);
    return {low, *above, double(total_batch - low.batch) / (above->batch - low.batch)};
}

double PolluxProfile::steps_until(int total_batch, int epoch) const {
    const auto [low, high, part] = around(total_batch);
    return std::lerp(low.steps[epoch], high.steps[epoch], part);
}

Gradient PolluxProfile::gradient(int total_batch, int epoch) const {
    const auto [low, high, part] = around(total_batch);
    return {
        .square = std::lerp(low.gradient_square[epoch], high.gradient_square[epoch], part),
        .variance = std::lerp(low.gradient_variance[epoch], high.gradient_variance[epoch], part)};
}

double PolluxProfile::step_progress(int total_batch, int epoch) const {
    const auto [square, variance] = gradient(total_batch, epoch);
    const double denominator = variance * batch.initial / total_batch + square;
    return denominator > 0 ? (variance + square) / denominator : 1;
}

}  // namespace

std::shared_ptr<Profile> parse_pollux_profile(const std::string &application,
                                              std::vector<TextFile> files,
                                              const std::string &gpu_type) {
    return std::make_shared<PolluxProfile>(application, std::move(files), gpu_type);
}

}  // namespace ringrt::sim

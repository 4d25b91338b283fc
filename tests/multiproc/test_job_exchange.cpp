// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint of a training's handle (ringrt.h) continues with the handles on their own, and the
// reverse, at other numbers of ranks: tensors, blocks, samples, speeds and losses.
#include <algorithm>
#include <sstream>
#include <vector>

#include "tests/support/step_job.h"

using namespace ringrt::test;

namespace {

constexpr uint32_t kBatch = 47;
constexpr uint64_t kRows = 41, kColumns = 3;

// The model of one rank. Every element is the number of samples seen, and its place.
struct Model {
    Model(int rank, int size)
        : first(kRows * static_cast<uint64_t>(rank) / static_cast<uint64_t>(size)),
          count(kRows * (static_cast<uint64_t>(rank) + 1) / static_cast<uint64_t>(size) - first),
          rows(count * kColumns) {}
    void set(uint64_t samples) {
        const auto seen = static_cast<double>(samples);
        for (size_t i = 0; i < whole.size(); ++i) whole[i] = seen + static_cast<double>(i) / 1024;
        for (size_t i = 0; i < rows.size(); ++i)
            rows[i] = seen + static_cast<double>(first * kColumns + i) / 4096;
        scalar = static_cast<int64_t>(samples);
    }
    [[nodiscard]] bool is_of(uint64_t samples, int rank, int size) const {
        Model expected(rank, size);
        expected.set(samples);
        return whole == expected.whole && rows == expected.rows && scalar == expected.scalar;
    }
    const uint64_t first, count;
    std::vector<double> whole = std::vector<double>(101), rows;
    int64_t scalar = 0;
};

constexpr uint64_t kWholeShape[] = {101}, kRowsShape[] = {kRows, kColumns};

// One run, of either kind of handle: restores, trains, saves as of its last step.
struct Run {
    bool with_handles;
    int size;
    uint64_t from, to;
    int restart;
};

double loss_at(uint64_t step) { return 1 / (0.01 * static_cast<double>(step) + 0.5) + 0.25; }

std::string meeting(const Job &job, const Run &run) {
    return job.path("meet." + std::to_string(run.restart));
}

// In the three functions a status, or 99 for a value that is not as expected.
constexpr int kWrong = 99;

int train_one_handle(const Job &job, const Run &run, int rank) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    const std::string meet = meeting(job, run);
    config.rank = rank;
    config.size = run.size;
    config.rendezvous = meet.c_str();
    config.global_batch = kBatch;
    config.timeout_ms = 20000;
    ringrt_t *rt = nullptr;
    if (const int got = ringrt_init(&rt, &config)) return got;
    Model model(rank, run.size);
    uint64_t step = 0;
    ringrt_register(rt, "whole", model.whole.data(), RINGRT_FLOAT64, 1, kWholeShape);
    ringrt_register(rt, "scalar", &model.scalar, RINGRT_INT64, 0, nullptr);
    ringrt_register_rows(rt, "rows", model.rows.data(), RINGRT_FLOAT64, 2, kRowsShape, model.first,
                         model.count);
    const ringrt_status_t restored = ringrt_restore(rt, &step);
    if (restored != (run.from ? RINGRT_OK : RINGRT_NOT_FOUND))
        return Job::complain(rank, restored, ringrt_last_error(rt));
    if (step != run.from) return kWrong;
    if (step > 0 && !model.is_of(step * kBatch, rank, run.size)) return kWrong;
    while (step < run.to) {
        ringrt_batch_t batch;
        ringrt_action_t action;
        ringrt_batch(rt, &batch);
        if (batch.samples_seen != step * kBatch) return kWrong;
        usleep(1000);
        ringrt_set_loss(rt, loss_at(step + 1), 0.3);
        if (const int got = ringrt_step(rt, ++step, &action)) return got;
    }
    model.set(step * kBatch);
    if (const int got = ringrt_save(rt, step)) return got;
    return ringrt_finalize(rt);
}

int open_handles(const Job &job, const Run &run, int rank, ringrt_comm_t **comm,
                 ringrt_checkpoint_t **checkpoint, ringrt_job_t **handle) {
    ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
    const std::string meet = meeting(job, run);
    config.rank = rank;
    config.size = run.size;
    config.rendezvous = meet.c_str();
    ringrt_job_config_t of_job = RINGRT_JOB_CONFIG_INIT;
    of_job.global_batch = kBatch;
    int got = ringrt_comm_create(comm, &config);
    if (got == RINGRT_OK) got = ringrt_checkpoint_open(checkpoint, *comm, nullptr);
    return got == RINGRT_OK ? ringrt_job_open(handle, *comm, *checkpoint, &of_job) : got;
}

int train_handles(const Job &job, const Run &run, int rank) {
    ringrt_comm_t *comm = nullptr;
    ringrt_checkpoint_t *checkpoint = nullptr;
    ringrt_job_t *handle = nullptr;
    if (const int got = open_handles(job, run, rank, &comm, &checkpoint, &handle)) return got;
    Model model(rank, run.size);
    uint64_t step = 0;
    const uint64_t offset[] = {model.first, 0}, extent[] = {model.count, kColumns};
    ringrt_checkpoint_register(checkpoint, "whole", model.whole.data(), RINGRT_FLOAT64, 1,
                               kWholeShape);
    ringrt_checkpoint_register(checkpoint, "scalar", &model.scalar, RINGRT_INT64, 0, nullptr);
    ringrt_checkpoint_register_block(checkpoint, "rows", model.rows.data(), RINGRT_FLOAT64, 2,
                                     kRowsShape, offset, extent);
    const ringrt_status_t restored = ringrt_checkpoint_restore(checkpoint, &step);
    if (restored != (run.from ? RINGRT_OK : RINGRT_NOT_FOUND))
        return Job::complain(rank, restored, ringrt_checkpoint_last_error(checkpoint));
    if (step != run.from) return kWrong;
    if (step > 0 && !model.is_of(step * kBatch, rank, run.size)) return kWrong;
    while (step < run.to) {
        ringrt_batch_t batch;
        ringrt_action_t action;
        ringrt_job_batch(handle, &batch);
        if (batch.samples_seen != step * kBatch) return kWrong;
        usleep(1000);
        ringrt_job_set_loss(handle, loss_at(step + 1), 0.3);
        if (const int got = ringrt_job_step(handle, ++step, &action)) return got;
    }
    model.set(step * kBatch);
    if (const int got = ringrt_checkpoint_save_begin(checkpoint, step)) return got;
    if (const int got = ringrt_job_saving(handle, RINGRT_OK)) return got;
    ringrt_action_t action;
    if (const int got = ringrt_job_saved(handle, ringrt_checkpoint_save_end(checkpoint), &action))
        return got;
    if (const int got = ringrt_job_close(handle)) return got;
    if (const int got = ringrt_checkpoint_close(checkpoint)) return got;
    return ringrt_comm_destroy(comm);
}

std::string line_of(const std::string &manifest, const std::string &key) {
    const size_t at = manifest.find("\n" + key + " ");
    return at == manifest.npos ? "" : manifest.substr(at + 1, manifest.find('\n', at + 1) - at - 1);
}

// One loss per step, each once: "losses", steps per loss, goal, then step:loss. The curve averages
// them from the 32nd on.
void expect_losses(const std::string &manifest, uint64_t steps) {
    std::istringstream line(line_of(manifest, "losses"));
    std::string key, run, goal, pair;
    line >> key >> run >> goal;
    EXPECT_TEXT(run + " " + goal, "1 0.3");
    uint64_t step = 0;
    while (line >> pair) {
        ++step;
        ck_assert_msg(pair.starts_with(std::to_string(step) + ":"), "%s, expected step %llu",
                      pair.c_str(), static_cast<unsigned long long>(step));
        const double loss = std::stod(pair.substr(pair.find(':') + 1));
        ck_assert_msg(std::abs(loss - loss_at(step)) < 1e-9, "%s", pair.c_str());
    }
    ck_assert_uint_eq(step, steps);
}

}  // namespace

// The training continues over every change from one kind to the other, and within each kind.
TEST(either_kind_of_handle_continues_the_others_training) {
    for (const bool begins_with_handles : {false, true}) {
        Job job("exit 1");
        std::vector<int> sizes;
        uint64_t step = 0;
        for (const int size : {3, 2, 5, 1, 4, 7}) {
            const auto restart = static_cast<int>(sizes.size());
            const bool with_handles = (restart % 3 != 2) == begins_with_handles;
            const Run run{with_handles, size, step, step + 5, restart};
            Ranks ranks(size, [&](int rank) {
                job.begin({.restart = run.restart});
                return run.with_handles ? train_handles(job, run, rank)
                                        : train_one_handle(job, run, rank);
            });
            expect_all(ranks.wait(), RINGRT_OK, job);
            sizes.push_back(size);
            step = run.to;
            ck_assert_uint_eq(job.latest_step(), step);
            char name[64];
            snprintf(name, sizeof name, "ckpt/step-%012llu/manifest",
                     static_cast<unsigned long long>(step));
            const std::string manifest = read(job.path(name));
            EXPECT_TEXT(
                line_of(manifest, "step").substr(0, line_of(manifest, "step").find(" seed")),
                "step " + std::to_string(step) + " samples " + std::to_string(step * kBatch));
            EXPECT_TEXT(line_of(manifest, "batch"), "batch " + std::to_string(kBatch));
            expect_losses(manifest, step);
            for (const int each : sizes)
                ck_assert_msg(count(manifest, "\nspeed " + std::to_string(each) + " ") == 1,
                              "no speed at %d ranks in\n%s", each, manifest.c_str());
        }
    }
}

int main() { return run_all("job_exchange"); }

// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks use the handles on their own (ringrt_job.h): a communicator, a job, and
// checkpoints of the library's or the program's own.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <sstream>
#include <thread>
#include <vector>

#include "libringrt/ringrt_job.h"
#include "tests/support/step_job.h"

namespace ringrt::test {

inline constexpr uint32_t kHandleBatch = 48;

inline constexpr int kAllRanks = -2;

struct HandleProgram {
    bool own_files = false;    // instead of a ringrt_checkpoint_t
    bool is_reversed = false;  // the job is over a split communicator, with the ranks reversed
    int fails_at_rank = -1;    // whose saves fail
    bool in_background = false;
    uint64_t save_every = 0;  // steps between saves of the program's own choice, in two parts
    std::vector<ringrt_speed_t> planned_speeds{};
    size_t ballast = 1;          // doubles that make a save longer
    int fails_to_begin_at = -1;  // rank; kAllRanks
    // In the thread that writes the program's own files, until `stop`.
    std::function<void(int rank, const std::atomic<bool> &stop)> while_writing =
        [](int, const std::atomic<bool> &) {};
    std::function<void(int rank, uint64_t step)> before_saved = [](int, uint64_t) {};
};

// One rank of one run.
class HandleRank {
  public:
    HandleRank(const Job &files, const HandleProgram &program, Job::Options options)
        : files_(files), program_(program), options_(std::move(options)) {}
    HandleRank(const HandleRank &) = delete;
    HandleRank &operator=(const HandleRank &) = delete;

    int run(int rank, int size) {
        files_.begin(options_);
        ringrt_status_t status = open(rank, size);
        if (status == RINGRT_OK) status = loop();
        const int result =
            status == RINGRT_OK ? (left_ ? kLeft : kEnded) : Job::complain(rank, status, line());
        is_stopping_ = true;
        if (writer_.joinable()) writer_.join();  // it uses the handle
        if (left_) block_sigterm();
        (void)ringrt_job_close(job_);
        (void)ringrt_checkpoint_close(checkpoint_);
        (void)ringrt_comm_destroy(comm_);
        files_.end();
        return result;
    }

  private:
    // Slurm ends the ranks one by one: a late SIGTERM would end this one while it closes.
    static void block_sigterm() {
        sigset_t late;
        sigemptyset(&late);
        sigaddset(&late, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &late, nullptr);
    }

    const char *line() const {
        for (const char *each : {ringrt_job_last_error(job_), ringrt_comm_last_error(comm_)})
            if (*each) return each;
        return ringrt_checkpoint_last_error(checkpoint_);
    }

    ringrt_status_t open(int rank, int size) {
        ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
        const std::string meet = files_.path("meet." + std::to_string(options_.restart));
        config.rank = rank;
        config.size = size;
        config.rendezvous = meet.c_str();
        config.timeout_ms = config.start_timeout_ms = 20000;
        ringrt_status_t status = ringrt_comm_create(&comm_, &config);
        if (status == RINGRT_OK && program_.is_reversed) {
            ringrt_comm_t *all = comm_;
            status = ringrt_comm_split(all, 0, size - rank, &comm_);
            (void)ringrt_comm_destroy(all);  // the parts live on
        }
        if (status == RINGRT_OK && !program_.own_files)
            status = ringrt_checkpoint_open(&checkpoint_, comm_, nullptr);
        if (status != RINGRT_OK) return status;
        ringrt_job_config_t job = RINGRT_JOB_CONFIG_INIT;
        job.global_batch = kHandleBatch;
        job.steps_total = options_.steps;
        job.background_saves = program_.in_background;
        status = ringrt_job_open(&job_, comm_, checkpoint_, &job);
        const std::vector<ringrt_speed_t> &planned = program_.planned_speeds;
        if (status != RINGRT_OK || planned.empty()) return status;
        return ringrt_job_set_planned_speeds(job_, planned.data(), planned.size());
    }

    // Every weight is the number of samples seen. The rows are each rank's part of a tensor.
    ringrt_status_t loop() {
        rank_ = ringrt_comm_rank(comm_);
        const auto rank = static_cast<uint64_t>(rank_);
        const auto size = static_cast<uint64_t>(ringrt_comm_size(comm_));
        const uint64_t shape[] = {37, 3}, offset[] = {37 * rank / size, 0},
                       extent[] = {37 * (rank + 1) / size - offset[0], 3};
        rows_.assign(extent[0] * 3, 0);
        uint64_t step = 0;
        ringrt_status_t status = RINGRT_OK;
        if (checkpoint_) {
            const uint64_t count[] = {weights_.size()};
            status = ringrt_checkpoint_register(checkpoint_, "w", weights_.data(), RINGRT_FLOAT64,
                                                1, count);
            if (status == RINGRT_OK)
                status = ringrt_checkpoint_register_block(checkpoint_, "rows", rows_.data(),
                                                          RINGRT_FLOAT64, 2, shape, offset, extent);
            const uint64_t ballast[] = {ballast_.size()};
            if (status == RINGRT_OK)
                status = ringrt_checkpoint_register(checkpoint_, "ballast", ballast_.data(),
                                                    RINGRT_FLOAT64, 1, ballast);
            if (status == RINGRT_OK) status = ringrt_checkpoint_restore(checkpoint_, &step);
            if (status == RINGRT_NOT_FOUND) status = RINGRT_OK;
        } else {
            status = read_own(step);
        }
        double ends = 0;
        ringrt_action_t action = RINGRT_CONTINUE;
        while (status == RINGRT_OK && step < options_.steps && ends == 0 &&
               action != RINGRT_LEAVE) {
            status = train(step + 1, ends);
            if (status == RINGRT_OK) status = ringrt_job_step(job_, ++step, &action);
            if (status == RINGRT_OK) status = serve(step, action);
        }
        left_ = action == RINGRT_LEAVE;
        if (status == RINGRT_OK && is_saving_) {
            status = serve(step, action = RINGRT_SAVE_END);
            if (action == RINGRT_LEAVE) return RINGRT_UNSUPPORTED;
        }
        return status == RINGRT_OK ? check(step) : status;
    }

    ringrt_status_t train(uint64_t step, double &ends) {
        ringrt_batch_t batch;
        if (const ringrt_status_t got = ringrt_job_batch(job_, &batch); got != RINGRT_OK)
            return got;
        if (batch.samples_seen != (step - 1) * kHandleBatch) return RINGRT_UNSUPPORTED;
        double sums[2] = {static_cast<double>(batch.count),
                          fs::exists(files_.path("end")) ? 1.0 : 0.0};
        const ringrt_status_t summed =
            ringrt_comm_allreduce(sums, sums, 2, RINGRT_FLOAT64, RINGRT_SUM, comm_, nullptr);
        if (summed != RINGRT_OK) return summed;
        for (std::vector<double> *each : {&weights_, &rows_})
            for (double &value : *each) value += sums[0];
        ends = sums[1];
        std::ofstream(files_.path("seen." + std::to_string(rank_)), std::ios::app)
            << step << ' ' << batch.samples_seen + batch.first << ' ' << batch.count << '\n';
        usleep(2000);
        options_.at_step(rank_, step);
        (void)ringrt_job_set_loss(job_, 1.0 / static_cast<double>(step), 0);
        replace(files_.path("step." + std::to_string(rank_)), std::to_string(step));
        return RINGRT_OK;
    }

    // Does what the action says, and tells it in a file.
    ringrt_status_t serve(uint64_t step, ringrt_action_t &action) {
        const bool is_own_choice =
            program_.save_every > 0 && step % program_.save_every == 0 && !is_saving_;
        if (action == RINGRT_CONTINUE && is_own_choice) action = RINGRT_SAVE_BEGIN;
        ringrt_status_t status = RINGRT_OK;
        if (action == RINGRT_SAVE_BEGIN) {
            note("begin", step);
            const ringrt_status_t begun = begin_save(step);
            is_saving_ = begun == RINGRT_OK;
            action = RINGRT_CONTINUE;
            return ringrt_job_saving(job_, begun);
        }
        if (action == RINGRT_SAVE_END) {
            note("end", step);
            const ringrt_status_t ended = end_save();
            program_.before_saved(rank_, step);
            is_saving_ = false;
            status = ringrt_job_saved(job_, ended, &action);
        }
        if (status != RINGRT_OK || action != RINGRT_SAVE) return status;
        note("save", step);
        return save(step, action);
    }
    void note(const char *what, uint64_t step) const {
        std::ofstream(files_.path("saves." + std::to_string(rank_)), std::ios::app)
            << what << ' ' << step << '\n';
    }

    ringrt_status_t begin_save(uint64_t step) {
        const bool fails =
            program_.fails_to_begin_at == rank_ || program_.fails_to_begin_at == kAllRanks;
        if (fails) return RINGRT_SYSTEM_ERROR;
        if (checkpoint_) return ringrt_checkpoint_save_begin(checkpoint_, step);
        std::string text;
        if (const ringrt_status_t got = own_text(step, text); got != RINGRT_OK) return got;
        is_stopping_ = false;
        writer_ = std::jthread([this, text] {
            program_.while_writing(rank_, is_stopping_);
            if (rank_ == 0) replace(files_.path("ckpt/next"), text);
            (void)ringrt_job_written(job_);
        });
        return RINGRT_OK;
    }
    ringrt_status_t end_save() {
        if (checkpoint_) return ringrt_checkpoint_save_end(checkpoint_);
        is_stopping_ = true;
        if (!writer_.joinable()) return RINGRT_INVALID_ARGUMENT;
        writer_.join();
        if (program_.fails_at_rank == rank_) return RINGRT_SYSTEM_ERROR;
        if (rank_ == 0) fs::rename(files_.path("ckpt/next"), files_.path("ckpt/LATEST"));
        return RINGRT_OK;
    }

    ringrt_status_t save(uint64_t step, ringrt_action_t &action) {
        ringrt_status_t saved = RINGRT_SYSTEM_ERROR;
        if (checkpoint_)
            saved = ringrt_checkpoint_save(checkpoint_, step);
        else if (program_.fails_at_rank != rank_)
            saved = write_own(step);
        program_.before_saved(rank_, step);
        const ringrt_status_t status = ringrt_job_saved(job_, saved, &action);
        return status == RINGRT_OK && action == RINGRT_SAVE ? RINGRT_UNSUPPORTED : status;
    }

    // The program's own checkpoint, which rank 0 writes: a step, and what the job has learned.
    ringrt_status_t write_own(uint64_t step) {
        if (rank_ != 0) return RINGRT_OK;
        std::string text;
        const ringrt_status_t got = own_text(step, text);
        if (got == RINGRT_OK) replace(files_.path("ckpt/LATEST"), text);
        return got;
    }
    ringrt_status_t own_text(uint64_t step, std::string &text) const {
        const void *data = nullptr;
        size_t bytes = 0;
        const ringrt_status_t got = ringrt_job_progress(job_, &data, &bytes);
        if (got != RINGRT_OK) return got;
        fs::create_directories(files_.path("ckpt"));
        text = "step-" + std::to_string(step) + "\n" +
               std::string(static_cast<const char *>(data), bytes);
        return RINGRT_OK;
    }
    ringrt_status_t read_own(uint64_t &step) {
        const std::string text = read(files_.path("ckpt/LATEST"));
        if (text.empty()) return RINGRT_OK;
        step = files_.latest_step();
        const std::string progress = text.substr(text.find('\n') + 1);
        for (std::vector<double> *each : {&weights_, &rows_})
            for (double &value : *each) value = static_cast<double>(kHandleBatch * step);
        return ringrt_job_resumed(job_, step, progress.data(), progress.size());
    }

    ringrt_status_t check(uint64_t step) const {
        for (const std::vector<double> *each : {&weights_, &rows_})
            for (const double value : *each)
                if (value != static_cast<double>(kHandleBatch * step)) return RINGRT_CORRUPT;
        return RINGRT_OK;
    }

    const Job &files_;
    const HandleProgram &program_;
    const Job::Options options_;
    ringrt_comm_t *comm_ = nullptr;
    ringrt_checkpoint_t *checkpoint_ = nullptr;
    ringrt_job_t *job_ = nullptr;
    int rank_ = 0;
    bool left_ = false;
    std::vector<double> weights_ = std::vector<double>(1000), rows_;
    std::vector<double> ballast_ = std::vector<double>(program_.ballast);
    bool is_saving_ = false;
    std::atomic<bool> is_stopping_{false};
    std::jthread writer_;  // of the program's own files
};

inline Ranks start(const Job &job, int size, const HandleProgram &program,
                   Job::Options options = {}) {
    return Ranks(size, [&job, size, program, options](int rank) {
        return HandleRank(job, program, options).run(rank, size);
    });
}

// Expects that the steps 1 to `steps` saw each sample once; with `repeats`, at least once.
inline void expect_samples(const Job &job, uint64_t steps, bool repeats = false) {
    std::vector<int> seen(steps * kHandleBatch);
    for (int rank = 0; rank < 16; ++rank) {
        std::istringstream lines(read(job.path("seen." + std::to_string(rank))));
        for (uint64_t step, first, count; lines >> step >> first >> count;)
            for (uint64_t i = first; i < first + count && i < seen.size(); ++i) ++seen[i];
    }
    for (size_t i = 0; i < seen.size(); ++i)
        ck_assert_msg(seen[i] == 1 || (repeats && seen[i] > 0), "sample %zu: %d times", i, seen[i]);
}

}  // namespace ringrt::test

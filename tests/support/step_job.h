// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks are real processes, with a script in place of scontrol that gives the
// configured answers.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "libringrt/ringrt.h"
#include "slurm_plugin/records/telemetry.h"
#include "tests/support/check.h"
#include "tests/support/ranks.h"

namespace ringrt::test {

namespace fs = std::filesystem;

// Steps of at least 2 ms: they last longer than the slowest test needs to act, see end_training().
inline constexpr uint64_t kUntilTold = 100000;
inline constexpr int kLeft = 0, kEnded = 10;  // exit statuses of a rank; others are 100 + status

inline std::string read(const fs::path &path) {
    std::ifstream in(path);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
}

// Atomic: a concurrent reader sees the old content or the new.
inline void replace(const fs::path &path, const std::string &text) {
    const fs::path fresh = path.string() + "." + std::to_string(getpid());
    std::ofstream(fresh) << text;
    fs::rename(fresh, path);
}

inline size_t count(const std::string &text, const std::string &part) {
    size_t n = 0;
    for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
    return n;
}

// One job. Its directory holds the checkpoints, the log, the ranks' pids, and the arguments of
// scontrol.
class Job {
  public:
    explicit Job(const std::string &requeue_answer) {
        fs::create_directory(path("pids"));
        std::ofstream script(path("scontrol"));
        script << "#!/bin/sh\ncd " << directory_.path << "\n"
               << "echo \"$*\" >>calls\n"
               << "case $1 in\n"
               << "show) printf 'JobId=7 JobName=x\\n   Comment=mine ringrt/1 run=0 gpus=1 "
                  "step=1\\n   Power=\\n' ;;\n"
               << "requeue) " << requeue_answer << " ;;\n"
               << "esac\n";
        script.close();
        fs::permissions(path("scontrol"), fs::perms::owner_all);
    }

    std::string path(const std::string &name) const { return directory_.path + "/" + name; }
    std::string log() const { return read(path("log")); }
    std::string calls() const { return read(path("calls")); }
    std::string steps(int rank) const { return read(path("step." + std::to_string(rank))); }
    uint64_t latest_step() const {
        std::string text = read(path("ckpt/LATEST"));
        size_t at = text.find("step-");
        return at == text.npos ? 0 : strtoull(text.c_str() + at + 5, nullptr, 10);
    }
    // Waits until `what()` is true. Returns false after half a minute.
    static bool wait_for(const std::function<bool()> &what) {
        for (int i = 0; i < 6000; ++i) {
            if (what()) return true;
            usleep(5000);
        }
        return false;
    }
    bool wait_until_training(int ranks) const {
        return wait_for([&] {
            for (int r = 0; r < ranks; ++r)
                if (steps(r).empty()) return false;
            return true;
        });
    }

    // The ranks end after their current step, all after the same one.
    void end_training() const { std::ofstream(path("end")) << ""; }

    struct Options {
        int restart = 0;
        uint64_t steps = kUntilTold;
        size_t floats = 1000;
        double loss_goal = 0;  // above 0: this loss ends training after `steps`, a number that the
                               // runtime does not get
        std::function<void(int rank, uint64_t step)> at_step = [](int, uint64_t) {};
        std::vector<std::pair<std::string, std::string>> environment;
    };

    // The life of one rank.
    int train(int rank, int size, const Options &options) const {
        begin(options);
        ringrt_config_t config = RINGRT_CONFIG_INIT;
        config.rank = rank;
        config.size = size;
        config.global_batch = 48;
        config.steps_total = options.loss_goal > 0 ? 0 : options.steps;
        config.timeout_ms = 20000;
        ringrt_t *rt = nullptr;
        ringrt_status_t status = ringrt_init(&rt, &config);
        if (status != RINGRT_OK) return complain(rank, status, ringrt_last_error(nullptr));
        status = loop(rt, rank, options);
        int result = status == RINGRT_OK ? (left_ ? kLeft : kEnded)
                                         : complain(rank, status, ringrt_last_error(rt));
        status = ringrt_finalize(rt);
        end();
        return result;
    }

    // The process of a rank, as Slurm starts it, until end().
    void begin(const Options &options) const {
        dup2(open(path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
        signal(SIGTERM, SIG_DFL);  // not Check's handler, which ends the test
        std::ofstream(path("pids/" + std::to_string(getpid()))) << options.restart << "\n";
        setenv("SLURM_JOB_ID", "7", 1);
        setenv("SLURM_RESTART_COUNT", std::to_string(options.restart).c_str(), 1);
        setenv("RINGRT_SCONTROL", path("scontrol").c_str(), 1);
        setenv("RINGRT_CHECKPOINT_DIR", path("ckpt").c_str(), 1);
        setenv("RINGRT_TELEMETRY_FILE", path("telemetry").c_str(), 1);
        setenv("RINGRT_LEAVE_TIMEOUT_S", "3", 1);
        setenv("RINGRT_REQUEUE_AGAIN_S", "1", 1);
        for (auto &[name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    }
    void end() const { unlink(path("pids/" + std::to_string(getpid())).c_str()); }

    static int complain(int rank, ringrt_status_t status, const char *line) {
        fprintf(stderr, "rank %d: %s\n", rank, line);
        return 100 + static_cast<int>(status);
    }

  private:
    // Every weight is the number of samples seen, so a lost or repeated step is visible.
    ringrt_status_t loop(ringrt_t *rt, int rank, const Options &options) const {
        std::vector<float> w(options.floats);
        std::array<float, 2> sums{};  // the gradient, and how many ranks have seen the file `end`
        const uint64_t shape[] = {w.size()};
        uint64_t step = 0;
        ringrt_status_t status = ringrt_register(rt, "w", w.data(), RINGRT_FLOAT32, 1, shape);
        if (status == RINGRT_OK) status = ringrt_restore(rt, &step);
        if (status != RINGRT_OK && status != RINGRT_NOT_FOUND) return status;
        ringrt_action_t action = RINGRT_CONTINUE;
        while (step < options.steps && sums[1] == 0 && action == RINGRT_CONTINUE) {
            ringrt_batch_t batch;
            if ((status = ringrt_batch(rt, &batch)) != RINGRT_OK) return status;
            if (batch.samples_seen != step * 48) return RINGRT_UNSUPPORTED;
            sums = {static_cast<float>(batch.count), fs::exists(path("end")) ? 1.0F : 0.0F};
            status = ringrt_allreduce(sums.data(), sums.data(), sums.size(), RINGRT_FLOAT32,
                                      RINGRT_SUM, rt);
            if (status != RINGRT_OK) return status;
            for (float &value : w) value += sums[0];
            usleep(2000);
            options.at_step(rank, step + 1);
            const double goal = options.loss_goal;
            const double part = static_cast<double>(step + 1) / static_cast<double>(options.steps);
            if (goal > 0) ringrt_set_loss(rt, goal / 2 + goal / (0.1 + 1.9 * part), goal);
            replace(path("step." + std::to_string(rank)), std::to_string(step + 1));
            if ((status = ringrt_step(rt, ++step, &action)) != RINGRT_OK) return status;
        }
        left_ = action == RINGRT_LEAVE;
        for (float value : w)
            if (value != static_cast<float>(48 * step)) return RINGRT_UNSUPPORTED;
        return RINGRT_OK;
    }

    TemporaryDirectory directory_;
    mutable bool left_ = false;
};

// Does what Slurm does: takes the run down soon after it accepts the requeue.
inline const char *const kAccept =
    "sleep 0.05; cd pids; kill -TERM $(grep -lx $SLURM_RESTART_COUNT *) 2>/dev/null";
inline const char *const kRefuse =
    "echo 'Requested operation is presently disabled for job 7' >&2; exit 1";

inline Ranks start(const Job &job, int size, Job::Options options = {}) {
    return Ranks(size, [&job, size, options](int rank) { return job.train(rank, size, options); });
}

inline void expect_all(std::vector<int> got, int expected, const Job &job) {
    for (size_t r = 0; r < got.size(); ++r)
        ck_assert_msg(got[r] == expected, "rank %zu ended with %d, expected %d; log:\n%s", r,
                      got[r], expected, job.log().c_str());
}

inline void expect_training(const Job &job, Ranks &ranks, int size) {
    if (job.wait_until_training(size)) return;
    std::string ended;  // -1: it still runs
    for (int status : ranks.wait(0.01)) ended += " " + std::to_string(status);
    ck_abort_msg("they do not train; ended with%s; log:\n%s", ended.c_str(), job.log().c_str());
}

// Expects `told` in the log, and training that continues after it until end_training().
inline void expect_goes_on(Ranks &ranks, const Job &job, const std::string &told) {
    ck_assert_msg(Job::wait_for([&] { return count(job.log(), told) > 0; }), "no \"%s\" in\n%s",
                  told.c_str(), job.log().c_str());
    const std::string before = job.steps(0);
    ck_assert(Job::wait_for([&] { return job.steps(0) != before; }));
    job.end_training();
    expect_all(ranks.wait(), kEnded, job);
}

inline void expect_log(const Job &job, const std::string &part, size_t times = 1) {
    ck_assert_msg(count(job.log(), part) == times, "expected %zu times \"%s\" in\n%s", times,
                  part.c_str(), job.log().c_str());
}

// Expects that all ranks left after the step of the newest checkpoint and that rank 0 asked once.
inline void expect_left(Ranks &ranks, int size, const Job &job) {
    expect_all(ranks.wait(), kLeft, job);
    const std::string step = std::to_string(job.latest_step());
    for (int r = 0; r < size; ++r) EXPECT_TEXT(job.steps(r), step);
    expect_log(job, "ringrt: job 7: signalled to save at step " + step + ": saved in ");
    expect_log(job, " s, requeued\n");
    ck_assert_uint_eq(count(job.calls(), "requeue incomplete 7\n"), 1);
}

}  // namespace ringrt::test

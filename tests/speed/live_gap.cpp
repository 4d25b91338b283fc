// SPDX-License-Identifier: BSD-3-Clause
// Measures how long training pauses when a job is resized in place. It is not a test. A base job of
// 2 ranks has a state of MB megabytes: buffers that all ranks hold, or rows; or it has gradients of
// MB megabytes. Or it has the state of the first in a checkpoint handle and a job handle (handles),
// or none in a job handle alone (job): then ringrt_job_resize() is measured, too. An extension of 2
// ranks joins and leaves, then joins and is killed, in turn. The gap is the time from one step's
// end to the next, minus a usual step, at the slower rank of the base. With
// RINGRT_LIVE_COPY_STEPS, the last line has what a copy of rows costs: steps at 4 ranks.
//
//   make tests/speed/live_gap
//   tests/speed/live_gap [rounds] [MB] [nodes: 1 or 2] [whole, rows, gradients, handles or job] …
//
// Of several kinds each round has one base after the other.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "libringrt/base/clock.h"
#include "libringrt/ringrt.h"
#include "libringrt/ringrt_job.h"
#include "tests/support/ranks.h"

using ringrt::monotonic_s;
using namespace ringrt::test;

namespace {

constexpr int kBase = 2, kExtension = 2;
constexpr int kUsualSteps = 15;  // at each size

struct Board {
    std::atomic<int> size{0};
    std::atomic<uint64_t> step{0};
    std::atomic<uint64_t> end_at{UINT64_MAX};  // so far ahead that all ranks see it in time
    std::atomic<int> changes[kBase] = {};
    double gap_ms[kBase][4096] = {};
    double call_ms[kBase][4096] = {};  // of it, in ringrt_job_resize()
    std::atomic<int> steps{0};
    double step_ms[65536] = {};  // at all ranks
};

struct Setup {
    std::string directory;
    size_t floats;
    int nodes;
    std::string kind;
    Board *board;
};

void configure(const Setup &setup, int job, int rank, int size, ringrt_config_t &config,
               std::string &meet) {
    setenv("SLURM_JOB_ID", std::to_string(1 + job).c_str(), 1);
    setenv("RINGRT_SCONTROL", "true", 1);
    setenv("RINGRT_NODE", setup.nodes == 2 && job > 0 ? "b" : "a", 1);
    if (job > 0) setenv("RINGRT_EXTENDS", "1", 1);
    config = RINGRT_CONFIG_INIT;
    config.rank = rank, config.size = size;
    config.checkpoint_dir = setup.directory.c_str();
    meet = setup.directory + "/start-" + std::to_string(job);
    config.rendezvous = meet.c_str();
    config.global_batch = 64;
    config.live_resize = 1;
}

void note(Board &board, int rank, double gap_ms, double call_ms = 0) {
    const int n = board.changes[rank]++;
    if (n < 4096) board.gap_ms[rank][n] = gap_ms, board.call_ms[rank][n] = call_ms;
}

int place(void *context, int rank, int size, ringrt_rows_t *out) {
    const auto rows = *static_cast<const uint64_t *>(context), ranks = uint64_t(size);
    out->first = rows * uint64_t(rank) / ranks;
    out->count = rows * uint64_t(rank + 1) / ranks - out->first;
    out->data = calloc(out->count + 1, sizeof(float));
    return out->data ? 0 : 1;
}

void release(void *, void *data) { free(data); }

// The program's state: a vector of `floats`, in one of three ways.
class State {
  public:
    explicit State(const Setup &setup)
        : rows_(setup.floats),
          by_rows_(setup.kind == "rows"),
          sums_(setup.kind == "gradients"),
          all_(by_rows_ ? 0 : setup.floats, 1.0f) {}

    ringrt_status_t add(ringrt_t *rt) {
        if (by_rows_)
            return ringrt_register_placed_rows(rt, "state", RINGRT_FLOAT32, 1, &rows_, place,
                                               release, &rows_);
        if (!sums_) return ringrt_register(rt, "state", all_.data(), RINGRT_FLOAT32, 1, &rows_);
        const uint64_t small = 1024;  // its contents are not sent as state
        int id = -1;
        ringrt_status_t status = ringrt_register(rt, "state", small_, RINGRT_FLOAT32, 1, &small);
        for (size_t i = 0; i < kGradients && status == RINGRT_OK; ++i)
            status = ringrt_gradient_register(rt, std::to_string(i).c_str(), rows_ / kGradients,
                                              RINGRT_FLOAT32, RINGRT_AVG, &id);
        return status;
    }
    ringrt_status_t reduce(ringrt_t *rt) {
        if (!sums_)
            return ringrt_allreduce(g_.data(), g_.data(), g_.size(), RINGRT_FLOAT32, RINGRT_AVG,
                                    rt);
        ringrt_status_t status = RINGRT_OK;
        for (size_t i = kGradients; i-- > 0 && status == RINGRT_OK;)
            status = ringrt_gradient_ready(rt, int(i), &all_[i * (rows_ / kGradients)]);
        for (size_t i = 0; i < kGradients && status == RINGRT_OK; ++i)
            status = ringrt_gradient_wait(rt, int(i), nullptr);
        return status;
    }
    [[nodiscard]] bool sums() const { return sums_; }

  private:
    static constexpr size_t kGradients = 20;
    uint64_t rows_;
    bool by_rows_, sums_;
    std::vector<float> all_, g_ = std::vector<float>(16384, 1.0f);
    float small_[1024] = {};
};

int run(const Setup &setup, int job, int rank, int size) {
    Board &board = *setup.board;
    ringrt_config_t config;
    std::string meet;
    configure(setup, job, rank, size, config, meet);
    ringrt_t *rt = nullptr;
    if (ringrt_init(&rt, &config) != RINGRT_OK) return 1;
    State state(setup);
    uint64_t step = 0;
    if (state.add(rt) != RINGRT_OK) return 1;
    ringrt_status_t status = ringrt_restore(rt, &step);
    if (status != RINGRT_OK && status != RINGRT_NOT_FOUND) return 1;
    int now = ringrt_size(rt);
    double last_s = monotonic_s(), usual_ms = 0;
    while (step < board.end_at) {
        usleep(2000);
        ringrt_action_t action = RINGRT_CONTINUE;
        status = state.reduce(rt);
        if (status == RINGRT_OK) status = ringrt_step(rt, ++step, &action);
        if (status == RINGRT_PEER_LOST) status = ringrt_restore(rt, &step);
        if (status != RINGRT_OK || action == RINGRT_LEAVE) break;
        const double time_s = monotonic_s(), took_ms = (time_s - last_s) * 1e3;
        last_s = time_s;
        const int before = std::exchange(now, ringrt_size(rt));
        if (before == now) usual_ms = usual_ms == 0 ? took_ms : 0.9 * usual_ms + 0.1 * took_ms;
        if (before != now && job == 0) note(board, rank, took_ms - usual_ms);
        if (before == now && now > kBase && job == 0 && rank == 0 && board.steps < 65536)
            board.step_ms[board.steps++] = took_ms;
        if (job == 0 && rank == 0) board.size = now, board.step = step;
    }
    return ringrt_finalize(rt) == RINGRT_OK ? 0 : 1;
}

// The same with a job handle, and a checkpoint handle over the same communicator or none.
class Handles {
  public:
    Handles(const Setup &setup, int job, int rank, int size)
        : setup_(setup), number_(job), rank_(rank), size_(size), all_(setup.floats, 1.0f) {}

    int run() {
        Board &board = *setup_.board;
        if (open() != RINGRT_OK) return 1;
        ringrt_action_t action =
            ringrt_job_is_extension(job_) == 1 ? RINGRT_RESIZE : RINGRT_CONTINUE;
        int now = size_;
        double last_s = monotonic_s(), usual_ms = 0;
        while (action == RINGRT_RESIZE || step_ < board.end_at) {
            usleep(2000);
            ringrt_status_t status = action == RINGRT_CONTINUE ? train(action) : RINGRT_OK;
            if (status == RINGRT_PEER_LOST) action = RINGRT_RESIZE, status = RINGRT_OK;
            double call_ms = 0;
            if (status == RINGRT_OK && action == RINGRT_RESIZE) status = resize(call_ms);
            if (status != RINGRT_OK)
                fprintf(stderr, "job %d, rank %d: %s, %s\n", number_, rank_,
                        ringrt_job_last_error(job_), ringrt_comm_last_error(comm_));
            if (status != RINGRT_OK || action == RINGRT_LEAVE || !comm_) break;
            action = RINGRT_CONTINUE;
            const double time_s = monotonic_s(), took_ms = (time_s - last_s) * 1e3;
            last_s = time_s;
            const int before = std::exchange(now, ringrt_comm_size(comm_));
            if (before == now) usual_ms = usual_ms == 0 ? took_ms : 0.9 * usual_ms + 0.1 * took_ms;
            if (before != now && number_ == 0) note(board, rank_, took_ms - usual_ms, call_ms);
            if (number_ == 0 && rank_ == 0) board.size = now, board.step = step_;
        }
        const ringrt_status_t closed = ringrt_job_close(job_);
        if (closed != RINGRT_OK) fprintf(stderr, "closed: %s\n", ringrt_status_string(closed));
        return closed == RINGRT_OK ? 0 : 1;
    }

  private:
    ringrt_status_t open() {
        ringrt_config_t as = RINGRT_CONFIG_INIT;
        std::string meet;
        configure(setup_, number_, rank_, size_, as, meet);
        setenv("RINGRT_CHECKPOINT_DIR", setup_.directory.c_str(), 1);
        ringrt_comm_config_t ranks = RINGRT_COMM_CONFIG_INIT;
        ranks.rank = rank_, ranks.size = size_;
        ranks.rendezvous = as.rendezvous;
        ringrt_status_t status = ringrt_comm_create(&comm_, &ranks);
        if (status == RINGRT_OK && setup_.kind == "handles")
            status = ringrt_checkpoint_open(&checkpoint_, comm_, nullptr);
        ringrt_job_config_t config = RINGRT_JOB_CONFIG_INIT;
        config.global_batch = as.global_batch;
        config.live_resize = 1;
        if (status == RINGRT_OK) status = ringrt_job_open(&job_, comm_, checkpoint_, &config);
        const uint64_t floats = all_.size();
        if (status != RINGRT_OK || !checkpoint_) return status;
        return ringrt_checkpoint_register(checkpoint_, "state", all_.data(), RINGRT_FLOAT32, 1,
                                          &floats);
    }
    ringrt_status_t train(ringrt_action_t &action) {
        const ringrt_status_t summed = ringrt_comm_allreduce(
            g_.data(), g_.data(), g_.size(), RINGRT_FLOAT32, RINGRT_AVG, comm_, nullptr);
        return summed == RINGRT_OK ? ringrt_job_step(job_, ++step_, &action) : summed;
    }
    ringrt_status_t resize(double &call_ms) {
        (void)ringrt_comm_abort(comm_);
        (void)ringrt_comm_destroy(comm_);
        comm_ = nullptr;
        int root = -1;
        const double begun_s = monotonic_s();
        const ringrt_status_t status = ringrt_job_resize(job_, &comm_, &step_, &root);
        call_ms = (monotonic_s() - begun_s) * 1e3;
        return status;
    }

    const Setup &setup_;
    const int number_, rank_, size_;
    std::vector<float> all_, g_ = std::vector<float>(16384, 1.0f);
    ringrt_comm_t *comm_ = nullptr;
    ringrt_checkpoint_t *checkpoint_ = nullptr;
    ringrt_job_t *job_ = nullptr;
    uint64_t step_ = 0;
};

int run_any(const Setup &setup, int job, int rank, int size) {
    if (setup.kind != "handles" && setup.kind != "job") return run(setup, job, rank, size);
    return Handles(setup, job, rank, size).run();
}

bool await(const Board &board, int size) {
    for (int i = 0; i < 20000 && board.size != size; ++i) usleep(1000);
    const int64_t from = int64_t(board.step);  // a checkpoint of rows may have an earlier step
    for (int i = 0; i < 20000 && std::abs(int64_t(board.step) - from) < kUsualSteps; ++i)
        usleep(1000);
    return board.size == size;
}

void show(const char *what, std::vector<double> gaps) {
    std::sort(gaps.begin(), gaps.end());
    if (gaps.empty()) return;
    auto at = [&](double part) { return gaps[size_t(part * double(gaps.size() - 1) + 0.5)]; };
    printf("%-16s n %3zu   median %7.2f   p90 %7.2f   p99 %7.2f   most %7.2f ms\n", what,
           gaps.size(), at(0.5), at(0.9), at(0.99), gaps.back());
}

struct Gaps {
    std::vector<double> grow, shrink, lost;

    void add(const double (&ms)[kBase][4096], int changes) {
        for (int i = 0; i < changes; ++i)
            (i % 2 == 0   ? grow
             : i % 4 == 1 ? shrink
                          : lost)
                .push_back(std::max(ms[0][i], ms[1][i]));
    }
    void show(const char *what) const {
        ::show((std::string("grow") + what).c_str(), grow);
        ::show((std::string("shrink") + what).c_str(), shrink);
        ::show((std::string("lost") + what).c_str(), lost);
    }
};

// A base, and extensions that leave or are killed in turn.
bool train(const Setup &setup, int extensions) {
    Board &board = *setup.board;
    Ranks base(kBase, [&](int rank) { return run_any(setup, 0, rank, kBase); });
    if (!await(board, kBase)) return false;
    for (int i = 0; i < extensions; ++i) {
        Ranks extension(kExtension, [&](int rank) { return run_any(setup, 1, rank, kExtension); });
        if (!await(board, kBase + kExtension)) return false;
        for (int rank = 0; rank < kExtension; ++rank)
            extension.signal(rank, i % 2 ? SIGKILL : SIGURG);
        if (!await(board, kBase)) return false;
        if (i % 2 == 0) (void)extension.wait();
    }
    board.end_at = board.step + 100;
    for (int status : base.wait())
        if (status != 0) return false;
    return true;
}

}  // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    const double mb = argc > 2 ? atof(argv[2]) : 100;
    const int nodes = argc > 3 ? atoi(argv[3]) : 1;
    std::vector<std::string> kinds(argv + std::min(argc, 4), argv + argc);
    if (kinds.empty()) kinds.emplace_back("whole");
    void *shared =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || rounds < 1 || rounds > 1000) return 2;
    std::vector<Gaps> gaps(kinds.size()), calls(kinds.size());
    std::vector<double> steps;
    const int turns = kinds.size() > 1 ? rounds : 1;
    for (int turn = 0; turn < turns; ++turn)
        for (size_t i = 0; i < kinds.size(); ++i) {
            TemporaryDirectory directory;
            auto *board = new (shared) Board();
            if (!train({directory.path, size_t(mb * 1e6 / 4), nodes, kinds[i], board},
                       2 * rounds / turns))
                return 1;
            gaps[i].add(board->gap_ms, board->changes[0]);
            calls[i].add(board->call_ms, board->changes[0]);
            steps.insert(steps.end(), board->step_ms, board->step_ms + board->steps);
        }
    for (size_t i = 0; i < kinds.size(); ++i) {
        printf("%g MB, %s, 2 -> 4 -> 2 ranks, %s\n", mb, kinds[i].c_str(),
               nodes == 2 ? "TCP over loopback" : "one node");
        gaps[i].show("");
        if (kinds[i] == "handles" || kinds[i] == "job") calls[i].show(", the call");
    }
    show("other steps", steps);
}

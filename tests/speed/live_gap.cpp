// SPDX-License-Identifier: BSD-3-Clause
// Measures how long training pauses when a job is resized in place. It is not a test. A base job of
// 2 ranks has a state of MB megabytes: buffers that all ranks hold, or rows; or it has gradients of
// MB megabytes. An extension of 2 ranks joins and leaves, then joins and is killed, in turn. The
// gap is the time from one step's end to the next, minus a usual step, at the slower rank of the
// base. With RINGRT_LIVE_COPY_STEPS, the last line has what a copy of rows costs: steps at 4 ranks.
//
//   make tests/speed/live_gap
//   tests/speed/live_gap [rounds] [MB] [nodes: 1 or 2] [whole, rows or gradients]
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
#include "tests/support/ranks.h"

using ringrt::monotonic_s;
using namespace ringrt::test;

namespace {

constexpr int kBase = 2, kExtension = 2;
constexpr int kUsualSteps = 15;  // at each size

struct Board {
    std::atomic<int> size{0};
    std::atomic<uint64_t> step{0};
    std::atomic<bool> end{false};
    std::atomic<int> changes[kBase] = {};
    double gap_ms[kBase][4096] = {};
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

void note(Board &board, int rank, double gap_ms) {
    const int n = board.changes[rank]++;
    if (n < 4096) board.gap_ms[rank][n] = gap_ms;
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
            return ringrt_allreduce(rt, g_.data(), g_.data(), g_.size(), RINGRT_FLOAT32,
                                    RINGRT_AVG);
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
    while (!board.end) {
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
    printf("%-14s n %3zu   median %7.2f   p90 %7.2f   p99 %7.2f   most %7.2f ms\n", what,
           gaps.size(), at(0.5), at(0.9), at(0.99), gaps.back());
}

}  // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    const double mb = argc > 2 ? atof(argv[2]) : 100;
    TemporaryDirectory directory;
    void *shared =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || rounds < 1 || rounds > 1000) return 2;
    const Setup setup{directory.path, size_t(mb * 1e6 / 4), argc > 3 ? atoi(argv[3]) : 1,
                      argc > 4 ? argv[4] : "whole", new (shared) Board()};
    Board &board = *setup.board;
    Ranks base(kBase, [&](int rank) { return run(setup, 0, rank, kBase); });
    if (!await(board, kBase)) return 1;
    for (int i = 0; i < 2 * rounds; ++i) {
        Ranks extension(kExtension, [&](int rank) { return run(setup, 1, rank, kExtension); });
        if (!await(board, kBase + kExtension)) return 1;
        for (int rank = 0; rank < kExtension; ++rank)
            extension.signal(rank, i % 2 ? SIGKILL : SIGURG);
        if (!await(board, kBase)) return 1;
        if (i % 2 == 0) (void)extension.wait();
    }
    board.end = true;
    for (int status : base.wait())
        if (status != 0) return 1;
    std::vector<double> grow, shrink, lost;
    for (int i = 0; i < board.changes[0]; ++i) {
        const double gap_ms = std::max(board.gap_ms[0][i], board.gap_ms[1][i]);
        (i % 2 == 0 ? grow : i % 4 == 1 ? shrink : lost).push_back(gap_ms);
    }
    printf("%g MB, %s, 2 -> 4 -> 2 ranks, %s\n", mb, setup.kind.c_str(),
           setup.nodes == 2 ? "TCP over loopback" : "one node");
    show("grow", grow);
    show("shrink", shrink);
    show("lost (killed)", lost);
    show("other steps", {board.step_ms, board.step_ms + board.steps});
}

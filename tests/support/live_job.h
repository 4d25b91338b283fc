// SPDX-License-Identifier: BSD-3-Clause
// A training whose ranks are real processes: a base job, and extensions that join and leave. It
// does what live_resize requires of a program and has no other code for extensions.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "libringrt/ringrt.h"
#include "tests/support/ranks.h"

namespace ringrt::test {

inline constexpr int kJobsMax = 64, kRanksOfJobMax = 8;
inline constexpr uint32_t kBatch = 64;

inline constexpr int kTrained = 0, kHasLeft = 10,
                     kFailed = 100;  // exit status; failed: 100 + status

// Shared by the test and all ranks.
struct LiveBoard {
    std::atomic<uint64_t> stop_at{UINT64_MAX};
    std::atomic<uint64_t> step[kJobsMax][kRanksOfJobMax];
    std::atomic<int> size[kJobsMax][kRanksOfJobMax];
    std::atomic<int> recoveries[kJobsMax];
    std::atomic<uint64_t> back_most[kJobsMax];  // steps that a recovery went back
};

// A sample's gradient at element j. `exact`: small multiples of a power of two, whose sums are the
// same in every order.
inline float sample_gradient(uint64_t sample, size_t j, float w, bool exact) {
    const uint64_t mixed = (sample * 2654435761u + j * 40503u) >> 3;
    if (exact) return static_cast<float>(static_cast<int>(mixed % 255) - 127) / 64.0f;
    return static_cast<float>(mixed % 1000) / 997.0f - 0.5f + 0.01f * w;
}

// Sums in tree order, so that RINGRT_ORDER=tree gives the same bits at 1, 2, 4 … ranks.
inline float tree_gradient(uint64_t first, uint64_t count, size_t j, float w, bool exact) {
    if (count == 1) return sample_gradient(first, j, w, exact);
    const uint64_t half = count / 2;
    return tree_gradient(first, half, j, w, exact) +
           tree_gradient(first + half, count - half, j, w, exact);
}

inline void update(std::vector<float> &w, std::vector<float> &momentum,
                   const std::vector<float> &g) {
    for (size_t j = 0; j < w.size(); ++j) {
        momentum[j] = 0.875f * momentum[j] + g[j];
        w[j] -= momentum[j] / 1024;
    }
}

// The result of `steps` steps of one rank alone.
inline std::vector<float> trained_alone(size_t floats, uint64_t steps, bool exact) {
    std::vector<float> w(floats, 1.0f), momentum(floats), g(floats);
    for (uint64_t step = 0; step < steps; ++step) {
        for (size_t j = 0; j < floats; ++j)
            g[j] = tree_gradient(step * kBatch, kBatch, j, w[j], exact);
        update(w, momentum, g);
    }
    return w;
}

// A state whose size differs in every step, like one that a program packs. `rejects`: how many of
// the states that it receives it does not take.
struct PackedState {
    std::vector<float> &w, &momentum;
    uint64_t &step;
    int rejects = 0;
    bool saves = false, stops = false;
    std::vector<uint64_t> history;  // step % 1000 + 1 entries, all `step`
    ringrt_piece_t pieces[3] = {};

    static int pack(void *context, const ringrt_piece_t **pieces, size_t *count, char *, size_t) {
        auto &state = *static_cast<PackedState *>(context);
        state.history.assign(state.step % 1000 + 1, state.step);
        state.pieces[0] = {state.history.data(), state.history.size() * sizeof(uint64_t)};
        state.pieces[1] = {state.w.data(), state.w.size() * sizeof(float)};
        state.pieces[2] = {state.momentum.data(), state.momentum.size() * sizeof(float)};
        *pieces = state.pieces, *count = 3;
        return 0;
    }
    static int unpack(void *context, const void *bytes, size_t count, char *error,
                      size_t error_bytes) {
        auto &state = *static_cast<PackedState *>(context);
        if (std::exchange(state.stops, false)) raise(SIGSTOP);
        uint64_t step = 0;
        if (count >= sizeof step) memcpy(&step, bytes, sizeof step);
        const size_t history = (step % 1000 + 1) * sizeof step,
                     each = state.w.size() * sizeof(float);
        const bool rejected = state.rejects > 0 && state.rejects-- > 0;
        if (rejected || count != history + 2 * each) {
            snprintf(error, error_bytes, "%zu bytes do not fit", count);
            return 1;
        }
        const auto *from = static_cast<const char *>(bytes) + history;
        memcpy(state.w.data(), from, each);
        memcpy(state.momentum.data(), from + each, each);
        state.step = step;
        return 0;
    }
    static int save(void *context, const char *directory, uint64_t, char *, size_t) {
        if (!static_cast<PackedState *>(context)->saves) return 0;
        const ringrt_piece_t *pieces = nullptr;
        size_t count = 0;
        pack(context, &pieces, &count, nullptr, 0);
        std::ofstream out(std::string(directory) + "/packed", std::ios::binary);
        for (size_t i = 0; i < count; ++i)
            out.write(static_cast<const char *>(pieces[i].data),
                      static_cast<std::streamsize>(pieces[i].bytes));
        out.close();
        return out ? 0 : 1;
    }
    static int load(void *context, const char *directory, uint64_t, char *error,
                    size_t error_bytes) {
        std::ifstream in(std::string(directory) + "/packed", std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        return unpack(context, bytes.data(), bytes.size(), error, error_bytes);
    }
};

class LiveTraining {
  public:
    bool packed = false;  // the state is not in registered buffers
    bool saved = false;   // a packed state is also in the checkpoints
    int broken = -1;      // the job that cannot take a packed state
    int stopping = -1;    // the job whose rank 0 stops itself when it gets the first one
    int rejecting = -1;   // the rank of the base that does not take the first one
    size_t floats = 101;  // not a multiple of anything
    bool exact = true;
    bool nodes_apart = false;  // each job on its own mock node
    int base_nodes = 1;        // the base's ranks in blocks on so many mock nodes
    std::string channel;       // to Slurm, of the base
    int pause_us = 500;        // per step
    uint32_t start_timeout_ms = 20000, timeout_ms = 20000;
    // For a state that the host does not see: what to register for a vector, and how the state is
    // copied to and from it after each step and after each restore.
    std::function<void *(int job, ringrt_t *rt, std::vector<float> &)> registered =
        [](int, ringrt_t *, std::vector<float> &vector) { return vector.data(); };
    // Called last before ringrt_init(), for variables that only some jobs have.
    std::function<void(int job)> environment = [](int) {};
    // Called before the first restore.
    std::function<void(int job, ringrt_t *rt)> prepare = [](int, ringrt_t *) {};
    // How the ranks sum `g` in a step.
    std::function<ringrt_status_t(ringrt_t *rt, std::vector<float> &g, uint64_t step)> reduce =
        [](ringrt_t *rt, std::vector<float> &g, uint64_t) {
            return ringrt_allreduce(g.data(), g.data(), g.size(), RINGRT_FLOAT32, RINGRT_SUM, rt);
        };
    // The step's update, after all its collectives.
    std::function<void(std::vector<float> &w, std::vector<float> &momentum,
                       const std::vector<float> &g)>
        apply = update;
    std::function<void(std::vector<float> &)> push = [](auto &) {}, pull = [](auto &) {};
    // What each rank runs. `other`: it registers another buffer too.
    std::function<int(int job, int rank, int size, bool other)> program =
        [this](int job, int rank, int size, bool other) { return run(job, rank, size, other); };

    LiveTraining() {
        void *shared = mmap(nullptr, sizeof(LiveBoard), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) abort();
        board_ = new (shared) LiveBoard();
    }
    ~LiveTraining() {
        jobs_.clear();
        munmap(board_, sizeof *board_);
    }

    // Job 0 is the base. `other`: the job registers another buffer too.
    Ranks &start(int job, int size, bool other = false) {
        for (auto &step : board_->step[job]) step = 0;
        jobs_[job] = std::make_unique<Ranks>(
            size, [=, this](int rank) { return program(job, rank, size, other); });
        return *jobs_[job];
    }
    Ranks &job(int job) { return *jobs_.at(job); }
    void forget(int job) { jobs_.erase(job); }  // kills its remaining processes

    [[nodiscard]] uint64_t step(int job = 0, int rank = 0) const { return board_->step[job][rank]; }
    [[nodiscard]] int size() const { return board_->size[0][0]; }
    [[nodiscard]] int recoveries() const { return board_->recoveries[0]; }
    // The most steps that a rank of the base had completed and does again after a loss.
    [[nodiscard]] uint64_t back_most() const { return board_->back_most[0]; }

    // Whether the base reaches `size` and makes steps with it.
    bool await_size(int size) {
        return await([&] { return this->size() == size; }) && await_steps(3);
    }
    bool await_steps(uint64_t more) {
        const uint64_t from = step();
        return await([&] { return step() >= from + more; });
    }
    static bool await(const std::function<bool()> &what) {
        for (int i = 0; i < 20000; ++i) {
            if (what()) return true;
            usleep(1000);
        }
        return false;
    }

    [[nodiscard]] std::string checkpoints() const { return directory_.path + "/ckpt"; }

    // Ends the training some steps ahead. Returns the last step.
    uint64_t stop() {
        const uint64_t at = step() + 200;
        board_->stop_at = at;
        return at;
    }
    std::vector<float> weights(int job, int rank) const {
        std::ifstream in(weights_file(job, rank), std::ios::binary);
        std::vector<float> out(floats);
        in.read(reinterpret_cast<char *>(out.data()),
                static_cast<std::streamsize>(floats * sizeof(float)));
        return in.gcount() == static_cast<std::streamsize>(floats * sizeof(float))
                   ? out
                   : std::vector<float>{};
    }

  protected:
    // For a program of another kind.
    void set_environment(int job, int rank, int size) const {
        ::signal(SIGTERM, SIG_DFL);  // the test framework's handler would end the test
        setenv("SLURM_JOB_ID", std::to_string(1000 + job).c_str(), 1);
        setenv("RINGRT_SCONTROL", "false", 1);
        setenv("RINGRT_ORDER", "tree", 1);
        std::string node = nodes_apart ? std::to_string(job) : "n";
        if (job == 0 && base_nodes > 1) node += std::to_string(rank * base_nodes / size);
        setenv("RINGRT_NODE", node.c_str(), 1);
        if (job == 0 && !channel.empty()) setenv("RINGRT_CHANNEL", channel.c_str(), 1);
        if (job > 0) setenv("RINGRT_EXTENDS", "1000", 1);
        environment(job);
    }
    [[nodiscard]] uint64_t last_step() const { return board_->stop_at; }
    void note_step(int job, int rank, int size, uint64_t step) {
        board_->size[job][rank] = size;
        board_->step[job][rank] = step;
    }
    void note_recovery(int job) { ++board_->recoveries[job]; }
    void write_weights(int job, int rank, const std::vector<float> &w) const {
        std::ofstream out(weights_file(job, rank), std::ios::binary);
        out.write(reinterpret_cast<const char *>(w.data()),
                  static_cast<std::streamsize>(floats * sizeof(float)));
    }

  private:
    std::string weights_file(int job, int rank) const {
        return directory_.path + "/w." + std::to_string(job) + "." + std::to_string(rank);
    }

    static int failed(const ringrt_t *rt, int job, const char *what, ringrt_status_t status) {
        fprintf(stderr, "job %d: %s: %s\n", job, what, ringrt_last_error(rt));
        return kFailed + static_cast<int>(status);
    }

    void note_back(int job, uint64_t steps) {
        uint64_t most = board_->back_most[job];
        while (steps > most && !board_->back_most[job].compare_exchange_weak(most, steps)) {
        }
    }

    int run(int job, int rank, int size, bool other) {
        set_environment(job, rank, size);
        const std::string directory = checkpoints();
        ringrt_config_t config = RINGRT_CONFIG_INIT;
        config.rank = rank, config.size = size;
        config.checkpoint_dir = directory.c_str();
        const std::string meet = directory + "/start-" + std::to_string(job);
        config.rendezvous = meet.c_str();
        config.global_batch = kBatch;
        config.start_timeout_ms = start_timeout_ms;
        config.timeout_ms = timeout_ms;
        config.live_resize = 1;
        ringrt_t *rt = nullptr;
        ringrt_status_t status = ringrt_init(&rt, &config);
        if (status != RINGRT_OK) return failed(nullptr, job, "init", status);
        std::vector<float> w(floats, 1.0f), momentum(floats), extra(1);
        const uint64_t shape = floats, one = 1;
        uint64_t step = 0;
        PackedState state{.w = w, .momentum = momentum, .step = step};
        if (job == broken) state.rejects = INT_MAX;
        if (job == 0 && rank == rejecting) state.rejects = 1;
        state.saves = job == 0 && rank == 0;
        state.stops = job == stopping && rank == 0;
        if (packed) {
            (void)ringrt_set_live_state(rt, PackedState::pack, PackedState::unpack, &state);
            if (saved) (void)ringrt_set_saver(rt, PackedState::save, PackedState::load, &state);
        } else {
            void *at[] = {registered(job, rt, w), registered(job, rt, momentum)};
            (void)ringrt_register(rt, "w", at[0], RINGRT_FLOAT32, 1, &shape);
            (void)ringrt_register(rt, "momentum", at[1], RINGRT_FLOAT32, 1, &shape);
        }
        if (other) (void)ringrt_register(rt, "extra", extra.data(), RINGRT_FLOAT32, 1, &one);
        prepare(job, rt);
        uint64_t restored = 0;
        status = ringrt_restore(rt, &restored);
        if (status != RINGRT_OK && status != RINGRT_NOT_FOUND)
            return failed(rt, job, "restore", status);
        if (restored != step && packed) return kFailed;  // the state came with its step
        step = restored;
        pull(w), pull(momentum);
        const int ended = train(rt, job, rank, step, w, momentum);
        if (ended == kTrained) write_weights(job, rank, w);
        if (ended >= kFailed) return ended;
        status = ringrt_finalize(rt);
        return status == RINGRT_OK ? ended : failed(nullptr, job, "finalize", status);
    }

    int train(ringrt_t *rt, int job, int rank, uint64_t &step, std::vector<float> &w,
              std::vector<float> &momentum) {
        std::vector<float> g(floats);
        while (step < board_->stop_at) {
            ringrt_batch_t batch;
            if (ringrt_batch(rt, &batch) != RINGRT_OK)
                return failed(rt, job, "batch", RINGRT_INVALID_ARGUMENT);
            for (size_t j = 0; j < floats; ++j)
                g[j] = batch.count == 0 ? 0
                                        : tree_gradient(batch.samples_seen + batch.first,
                                                        batch.count, j, w[j], exact);
            if (pause_us > 0) usleep(static_cast<useconds_t>(pause_us));
            ringrt_status_t status = reduce(rt, g, step);
            ringrt_action_t action = RINGRT_CONTINUE;
            if (status == RINGRT_OK) {
                apply(w, momentum, g);
                push(w), push(momentum);
                status = ringrt_step(rt, ++step, &action);
            }
            if (status == RINGRT_PEER_LOST) {
                note_recovery(job);
                const uint64_t before = step;
                uint64_t restored = step;
                status = ringrt_restore(rt, &restored);
                if (status == RINGRT_OK && packed && restored != step) return kFailed;
                step = restored;
                if (before > step) note_back(job, before - step);
                pull(w), pull(momentum);
            }
            if (status != RINGRT_OK) return failed(rt, job, "training", status);
            if (action == RINGRT_LEAVE) return kHasLeft;
            note_step(job, rank, ringrt_size(rt), step);
        }
        return kTrained;
    }

    TemporaryDirectory directory_;
    LiveBoard *board_;
    std::map<int, std::unique_ptr<Ranks>> jobs_;
};

}  // namespace ringrt::test

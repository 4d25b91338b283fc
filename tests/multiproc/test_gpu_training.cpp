// SPDX-License-Identifier: BSD-3-Clause
// Trainings whose state is in the memory of a mock GPU (tests/support/hidden_gpu.h), through the C
// API: saved, restored at other sizes and in host memory, and asked to leave by a signal. The GPU
// is late: the step to be saved is still in the program's stream.
#include "libringrt/gpu/gpu.h"
#include "tests/support/hidden_gpu.h"
#include "tests/support/step_job.h"

using namespace ringrt::test;

namespace {

// One per process; a rank is one process.
HiddenDevice &gpu() {
    static HiddenDevice device;
    return device;
}

}  // namespace

// Replaces the library's function.
std::unique_ptr<ringrt::Gpu> ringrt::find_gpu() { return std::make_unique<HiddenGpu>(gpu()); }

namespace {

constexpr uint64_t kBig = 40 << 20;  // more than the staging
constexpr char kStream = 0;          // its address is a stream

enum class Memory { host, gpu };

// A whole buffer of `bytes`, and rows, of which rank r holds more the larger r is.
class Program {
  public:
    Program(Memory memory, int rank, int size, uint64_t bytes) : memory_(memory) {
        constexpr uint64_t kRows = 41;
        const auto r = uint64_t(rank), p = uint64_t(size);
        first_row_ = kRows * r * r / (p * p),
        rows_ = kRows * (r + 1) * (r + 1) / (p * p) - first_row_;
        add("one", 1), add("none", 0), add("odd", 4099), add("whole", bytes);
        add("rows", rows_ * kRowBytes);
        held_.back().first = first_row_ * kRowBytes;
    }

    [[nodiscard]] ringrt_status_t register_all(ringrt_t *rt) {
        ringrt_status_t status = RINGRT_OK;
        for (const Held &held : held_) {
            const uint64_t shape[] = {held.name == "rows" ? 41 : held.bytes, kRowBytes};
            const char *name = held.name.c_str();
            if (status == RINGRT_OK && held.name == "rows")
                status = ringrt_register_rows(rt, name, held.data, RINGRT_UINT8, 2, shape,
                                              first_row_, rows_);
            else if (status == RINGRT_OK)
                status = ringrt_register(rt, name, held.data, RINGRT_UINT8, 1, shape);
        }
        if (status != RINGRT_OK || memory_ == Memory::host) return status;
        return ringrt_set_stream(rt, const_cast<char *>(&kStream));
    }
    // In the stream: the step is done once it is waited for.
    void make_step(uint64_t step) {
        if (memory_ == Memory::gpu)
            gpu().program.emplace_back([this, step] { fill(step); });
        else
            fill(step);
    }
    [[nodiscard]] bool is_at(uint64_t step) {
        gpu().synchronize();
        for (const Held &held : held_) {
            const unsigned char *bytes = seen(held);
            for (uint64_t i = 0; i < held.bytes; ++i)
                if (bytes[i] != value(step, held.first + i)) return false;
        }
        return true;
    }

  private:
    static constexpr uint64_t kRowBytes = 333;
    struct Held {
        std::string name;
        uint64_t bytes;
        unsigned char *data;
        uint64_t first = 0;
    };

    void add(const char *name, uint64_t bytes) {
        auto *data = memory_ == Memory::gpu
                         ? gpu().make<unsigned char>(bytes)
                         : host_.emplace_back(new unsigned char[bytes + 1]).get();
        held_.push_back({name, bytes, data});
    }
    unsigned char *seen(const Held &held) {
        return memory_ == Memory::gpu ? gpu().behind(held.data) : held.data;
    }
    // at: an offset into the whole buffer, of which this rank may hold rows.
    static unsigned char value(uint64_t step, uint64_t at) {
        return static_cast<unsigned char>(step * 7 + at + (at >> 11));
    }
    void fill(uint64_t step) {
        for (const Held &held : held_) {
            unsigned char *bytes = seen(held);
            for (uint64_t i = 0; i < held.bytes; ++i) bytes[i] = value(step, held.first + i);
        }
    }

    Memory memory_;
    uint64_t first_row_ = 0, rows_ = 0;
    std::vector<Held> held_;
    std::vector<std::unique_ptr<unsigned char[]>> host_;
};

struct Run {
    Memory memory = Memory::gpu;
    int ranks = 1;
    uint64_t bytes = 5000, from = 0;  // the step that is restored; 0: there is none
    int restart = 0;
    uint64_t steps = 0;   // the last step, which is saved at the end; 0: until it leaves
    bool beside = false;  // saves during training, once a second
    int fails_at = -1;    // a copy of rank 0's
};

enum Exit {
    kHasLeft = 20,
    kNotInit,
    kNotRegistered,
    kNotRestored,
    kWrongState,
    kNotSaved,
    kNotFreed,
    kNotSummed,
    kNoStep,
    kWrongStream
};

int explain(int code, int rank, const char *line) {
    fprintf(stderr, "rank %d: %s\n", rank, line);
    return code;
}

int train(ringrt_t *rt, Program &program, const Job &job, int rank, const Run &run) {
    uint64_t step = 0;
    const ringrt_status_t restored = ringrt_restore(rt, &step);
    if (restored != (run.from > 0 ? RINGRT_OK : RINGRT_NOT_FOUND) || step < run.from)
        return explain(kNotRestored, rank, ringrt_last_error(rt));
    if (run.from > 0 && !program.is_at(step)) return kWrongState;
    if (rank == 0 && run.fails_at >= 0) gpu().fails_at = gpu().copies + run.fails_at;
    ringrt_action_t action = RINGRT_CONTINUE;
    float told_to_end = 0;
    while (action == RINGRT_CONTINUE && told_to_end == 0 && (run.steps == 0 || step < run.steps)) {
        told_to_end = fs::exists(job.path("end")) ? 1 : 0;
        program.make_step(++step);
        if (ringrt_allreduce(&told_to_end, &told_to_end, 1, RINGRT_FLOAT32, RINGRT_SUM, rt) !=
            RINGRT_OK)
            return explain(kNotSummed, rank, ringrt_last_error(rt));
        usleep(2000);
        replace(job.path("step." + std::to_string(rank)), std::to_string(step));
        if (ringrt_step(rt, step, &action) != RINGRT_OK)
            return explain(kNoStep, rank, ringrt_last_error(rt));
    }
    if (run.steps > 0 && ringrt_save(rt, step) != RINGRT_OK)
        return explain(kNotSaved, rank, ringrt_last_error(rt));
    if (gpu().pinned != 0) return kNotFreed;
    if (run.memory == Memory::gpu && run.steps > 0 && gpu().marked != &kStream) return kWrongStream;
    return action == RINGRT_LEAVE ? kHasLeft : 0;
}

int life(const Job &job, int rank, const Run &run) {
    job.begin({.restart = run.restart,
               .environment = {{"RINGRT_SAVE_INTERVAL_S", run.beside ? "1" : "600"}}});
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank, config.size = run.ranks, config.timeout_ms = 20000;
    ringrt_t *rt = nullptr;
    if (ringrt_init(&rt, &config) != RINGRT_OK)
        return explain(kNotInit, rank, ringrt_last_error(nullptr));
    Program program(run.memory, rank, run.ranks, run.bytes);
    if (program.register_all(rt) != RINGRT_OK)
        return explain(kNotRegistered, rank, ringrt_last_error(rt));
    const int code = train(rt, program, job, rank, run);
    ringrt_finalize(rt);
    job.end();
    return code;
}

Ranks start(const Job &job, const Run &run) {
    return Ranks(run.ranks, [&job, run](int rank) { return life(job, rank, run); });
}

void expect(const Job &job, const Run &run, int code = 0) {
    Ranks ranks = start(job, run);
    expect_all(ranks.wait(60), code, job);
}

}  // namespace

TEST(a_state_moves_between_memories_and_sizes) {
    for (int saved = 1; saved <= 3; ++saved)
        for (Memory from : {Memory::host, Memory::gpu}) {
            Job job(kAccept);
            expect(job, {.memory = from, .ranks = saved, .steps = 3});
            int restart = 0;
            for (int loaded = 1; loaded <= 3; ++loaded)
                for (Memory to : {Memory::gpu, Memory::host}) {
                    const auto step = uint64_t(3 + restart++);
                    expect(job, {.memory = to,
                                 .ranks = loaded,
                                 .from = step,
                                 .restart = restart,
                                 .steps = step + 1});
                }
        }
}

TEST(a_state_larger_than_the_staging) {
    Job job(kAccept);
    expect(job, {.ranks = 2, .bytes = kBig, .steps = 2});
    expect(
        job,
        {.memory = Memory::host, .ranks = 1, .bytes = kBig, .from = 2, .restart = 1, .steps = 3});
    expect(job, {.ranks = 3, .bytes = kBig, .from = 3, .restart = 2, .steps = 4});
}

// Its checkpoint holds the step at which it left, which its stream had not done when it was asked.
TEST(a_training_on_gpus_is_resized) {
    Job job(kAccept);
    {
        Ranks ranks = start(job, {.ranks = 2});
        expect_training(job, ranks, 2);
        ranks.signal(1, SIGURG);
        expect_all(ranks.wait(), kHasLeft, job);
    }
    const uint64_t step = job.latest_step();
    EXPECT_TEXT(job.steps(0), std::to_string(step));
    expect(job, {.ranks = 3, .from = step, .restart = 1, .steps = step + 2});
}

TEST(a_training_on_gpus_continues_while_it_is_saved) {
    Job job(kAccept);
    Ranks ranks = start(job, {.ranks = 2, .beside = true});
    ck_assert(Job::wait_for([&] { return job.latest_step() > 0; }));
    job.end_training();
    for (int status : ranks.wait()) ck_assert_int_eq(status, 0);
    const uint64_t step = job.latest_step();
    ck_assert_uint_le(step, strtoull(job.steps(0).c_str(), nullptr, 10));
    fs::remove(job.path("end"));
    expect(job, {.memory = Memory::host, .from = step, .restart = 1, .steps = step + 1});
}

TEST(a_copy_that_fails_calls_a_resize_off) {
    Job job(kAccept);
    Ranks ranks = start(job, {.ranks = 2, .fails_at = 2});
    expect_training(job, ranks, 2);
    ranks.signal(1, SIGURG);
    ck_assert(Job::wait_for([&] { return count(job.log(), "resize called off") > 0; }));
    expect_log(
        job,
        "checkpoint failed: rank 0: GPU 0: cuMemcpyAsync: as the test wants, during the copy "
        "of buffer ");
    const std::string before = job.steps(0);
    ck_assert(Job::wait_for([&] { return job.steps(0) != before; }));
    ck_assert_uint_eq(job.latest_step(), 0);
    job.end_training();
    expect_all(ranks.wait(), 0, job);
}

int main() { return run_all("gpu_training"); }

// SPDX-License-Identifier: BSD-3-Clause
// What saves, loads and resizes in place cost a training whose state is in the memory of a GPU.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <new>

#include "tests/gpu/gpu_tests.h"
#include "tests/gpu/measure_gpu.h"

namespace ringrt::test {
namespace {

constexpr int kBuffers = 8;
constexpr size_t kWorkBytes = 64 << 20;

struct Program {
    ringrt_t *rt = nullptr;
    cudaStream_t stream = nullptr;
    void *work = nullptr;

    // `bytes` of registered state on the GPU.
    bool open(const ringrt_config_t &config, size_t bytes) {
        if (gpus() < 1 || ringrt_init(&rt, &config) != RINGRT_OK ||
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
            cudaMalloc(&work, kWorkBytes) != cudaSuccess ||
            ringrt_set_stream(rt, stream) != RINGRT_OK)
            return false;
        for (int i = 0; i < kBuffers; ++i) {
            void *made = nullptr;
            const uint64_t floats = bytes / kBuffers / sizeof(float);
            const std::string name = "w" + std::to_string(i);
            if (cudaMalloc(&made, floats * sizeof(float)) != cudaSuccess ||
                cudaMemset(made, i + 1, floats * sizeof(float)) != cudaSuccess ||
                ringrt_register(rt, name.c_str(), made, RINGRT_FLOAT32, 1, &floats) != RINGRT_OK)
                return false;
        }
        return cudaDeviceSynchronize() == cudaSuccess;
    }
    [[nodiscard]] bool compute() const {
        return cudaMemsetAsync(work, 0, kWorkBytes, stream) == cudaSuccess &&
               cudaStreamSynchronize(stream) == cudaSuccess;
    }
    bool failed(const char *what) const {
        fprintf(stderr, "%s: %s\n", what, ringrt_last_error(rt));
        return false;
    }
};

// Reads every file below `path`, as dd does.
double read_all_s(const std::string &path) {
    std::vector<char> block(8 << 20);
    const double began = now_us();
    for (const auto &entry : std::filesystem::recursive_directory_iterator(path)) {
        if (!entry.is_regular_file()) continue;
        const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && ::read(fd, block.data(), block.size()) > 0) {
        }
        ::close(fd);
    }
    return (now_us() - began) / 1e6;
}

// The newest checkpoint. Their names are in the order of their steps.
std::string newest(const std::string &directory) {
    std::string last;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
        if (std::filesystem::exists(entry.path() / "manifest"))
            last = std::max(last, entry.path().string());
    return last;
}

// How long steps take while saves are written in the background: the usual step, and the `saves`
// longest ones.
bool train(Program &program, uint64_t &step, double seconds, double *usual_ms,
           std::vector<double> *longest_ms, size_t saves) {
    std::vector<double> each;
    ringrt_action_t action;
    const double until = now_us() + seconds * 1e6;
    // The ranks stop at the same step.
    for (uint32_t more = 1; more != 0;) {
        const double began = now_us();
        if (!program.compute() || ringrt_step(program.rt, ++step, &action) != RINGRT_OK)
            return program.failed("step");
        each.push_back((now_us() - began) / 1000);
        more = now_us() < until;
        if (step % 64 == 0 &&
            ringrt_broadcast(&more, &more, sizeof more, RINGRT_UINT8, 0, program.rt) != RINGRT_OK)
            return program.failed("broadcast");
        if (step % 64 != 0) more = 1;
    }
    *usual_ms = median(each);
    std::sort(each.rbegin(), each.rend());
    each.resize(std::min(each.size(), saves));
    *longest_ms = each;
    return true;
}

// Takes GPU memory until only `left` bytes are available.
bool fill_gpu(size_t left) {
    size_t available = 0, total = 0;
    void *ignored;
    return cudaMemGetInfo(&available, &total) == cudaSuccess &&
           (available <= left || cudaMalloc(&ignored, available - left) == cudaSuccess);
}

// Saves in the background, for `seconds`.
bool save_beside(Program &program, uint64_t &step, double seconds, const char *what, int rank) {
    double usual_ms = 0;
    std::vector<double> longest_ms;
    if (!train(program, step, seconds, &usual_ms, &longest_ms, 3)) return false;
    if (rank > 0) return true;
    printf("| saves in the background, %s: longest steps |", what);
    for (const double each : longest_ms) printf(" %.1f", each);
    printf(" ms; usual %.2f |\n", usual_ms);
    return true;
}

int saves_and_loads(const std::string &directory, int rank, int ranks, size_t bytes, bool loads) {
    setenv("RINGRT_KEEP_CHECKPOINTS", "1", 1);
    const std::string meet = directory + "/meet-" + std::to_string(loads);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank, config.size = ranks;
    config.checkpoint_dir = directory.c_str(), config.rendezvous = meet.c_str();
    config.save_interval_s = 1;
    config.keep_checkpoints = 1;
    Program program;
    uint64_t step = 0;
    if (!program.open(config, bytes)) return program.failed("open"), 1;
    if (loads) {
        const double began = now_us();
        if (ringrt_restore(program.rt, &step) != RINGRT_OK) return program.failed("restore"), 2;
        const double took = (now_us() - began) / 1e6;
        if (ringrt_finalize(program.rt) != RINGRT_OK) return 3;
        if (rank == 0) {
            const double plain = read_all_s(newest(directory));
            printf("| load | %.2f s, %.2f GB/s; read() of its files: %.2f s; ratio %.2f |\n", took,
                   double(bytes) / took / 1e9, plain, took / plain);
        }
        return 0;
    }
    if (ringrt_restore(program.rt, &step) != RINGRT_NOT_FOUND) return program.failed("start"), 4;
    const double began = now_us();
    if (ringrt_save(program.rt, 1) != RINGRT_OK) return program.failed("save"), 5;
    const double inline_s = (now_us() - began) / 1e6;
    if (rank == 0)
        printf("| save, the program waits | %.2f s, %.2f GB/s |\n", inline_s,
               double(bytes) / inline_s / 1e9);
    step = 1;
    if (!save_beside(program, step, inline_s + 3, "with room on the GPU", rank)) return 6;
    // Less is left than a save copies.
    if (rank == 0 && !fill_gpu(size_t{256} << 20)) return 8;
    if (!save_beside(program, step, inline_s + 4, "without", rank)) return 6;
    return ringrt_finalize(program.rt) == RINGRT_OK ? 0 : 7;
}

}  // namespace

void measure_checkpoint(int ranks, size_t bytes, const std::string &directory) {
    std::string path = directory + "/ringrt-gpu-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
        printf("\n%s: %s\n", path.c_str(), strerror(errno));
        return;
    }
    printf(
        "\n### A checkpoint of %.1f GB of GPU memory, %d rank%s, in %s\n\n| what | took |\n"
        "| --- | --- |\n",
        double(bytes) / 1e9, ranks, ranks > 1 ? "s" : "", directory.c_str());
    for (const bool loads : {false, true}) {
        for (const int status : Ranks(ranks, [&](int rank) {
                                    return saves_and_loads(path, rank, ranks, bytes, loads);
                                }).wait(150))
            if (status != 0) printf("\ncheckpoint: a rank failed with status %d\n", status);
    }
    std::filesystem::remove_all(path);
}

// ---- in place -----------------------------------------------------------------------------------

namespace {

struct Board {
    std::atomic<int> stop, size;
    std::atomic<uint64_t> step;
};

constexpr int kJoins = 4;

int trains_in_place(Board &board, const std::string &directory, int job, int rank, int ranks,
                    size_t bytes) {
    ::signal(SIGTERM, SIG_DFL);
    setenv("SLURM_JOB_ID", std::to_string(1000 + job).c_str(), 1);
    setenv("RINGRT_SCONTROL", "false", 1);
    setenv("RINGRT_NODE", "n", 1);
    if (job > 0) setenv("RINGRT_EXTENDS", "1000", 1);
    const std::string meet = directory + "/start-" + std::to_string(job);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank, config.size = ranks;
    config.checkpoint_dir = directory.c_str(), config.rendezvous = meet.c_str();
    config.live_resize = 1;
    Program program;
    uint64_t step = 0;
    if (!program.open(config, bytes)) return program.failed("open"), 1;
    const ringrt_status_t restored = ringrt_restore(program.rt, &step);
    if (restored != RINGRT_OK && restored != RINGRT_NOT_FOUND) return program.failed("restore"), 2;
    std::vector<double> usual, joins, leaves;
    int size = ringrt_size(program.rt);
    for (;;) {
        ringrt_action_t action = RINGRT_CONTINUE;
        float stop = job == 0 && rank == 0 && board.stop != 0 ? 1 : 0;
        const double began = now_us();
        if (ringrt_allreduce(&stop, &stop, 1, RINGRT_FLOAT32, RINGRT_SUM, program.rt) != RINGRT_OK)
            return program.failed("allreduce"), 3;
        if (stop != 0) break;
        if (!program.compute() || ringrt_step(program.rt, ++step, &action) != RINGRT_OK)
            return program.failed("step"), 4;
        const double ms = (now_us() - began) / 1000;
        if (action == RINGRT_LEAVE) return ringrt_finalize(program.rt) == RINGRT_OK ? 0 : 5;
        const int now = ringrt_size(program.rt);
        (now > size ? joins : now < size ? leaves : usual).push_back(ms);
        size = now;
        if (job == 0 && rank == 0) board.size = now, board.step = step;
    }
    if (job == 0 && rank == 0)
        printf(
            "| usual step | %.2f ms |\n| step in which 2 ranks join | %.1f ms, longest %.1f |\n"
            "| step in which they leave | %.1f ms, longest %.1f |\n",
            median(usual), median(joins), *std::max_element(joins.begin(), joins.end()),
            median(leaves), *std::max_element(leaves.begin(), leaves.end()));
    return 0;
}

bool await(const std::function<bool()> &what) {
    for (int i = 0; i < 30000; ++i) {
        if (what()) return true;
        usleep(1000);
    }
    return false;
}

}  // namespace

void measure_in_place(size_t bytes) {
    void *shared =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto &board = *new (shared) Board();
    TemporaryDirectory directory;
    printf(
        "\n### Two ranks, four, two, with %.0f MB of GPU memory, on one GPU\n\n| what | took |\n"
        "| --- | --- |\n",
        double(bytes) / 1e6);
    const auto start = [&](int job) {
        return std::make_unique<Ranks>(2, [&, job](int rank) {
            return trains_in_place(board, directory.path, job, rank, 2, bytes);
        });
    };
    const auto base = start(0);
    bool good = await([&] { return board.step > 20; });
    for (int job = 1; good && job <= kJoins; ++job) {
        const auto extension = start(job);
        good = await([&] { return board.size == 4; });
        const uint64_t from = board.step;
        good = good && await([&] { return board.step > from + 20; });
        extension->signal(0, SIGURG);
        for (const int status : extension->wait(30)) good = good && status == 0;
        good = good && await([&] { return board.size == 2; });
    }
    board.stop = 1;
    for (const int status : base->wait(30)) good = good && status == 0;
    if (!good) printf("\nin place: failed\n");
    munmap(shared, sizeof(Board));
}

}  // namespace ringrt::test

// SPDX-License-Identifier: BSD-3-Clause
// How fast checkpoints are saved and loaded, against writing and syncing, and reading, the same
// bytes plainly. Not a test: timings depend on what else the machine does. Rounds are interleaved,
// caches of the files are dropped before reading, and the medians are told.
//
//     checkpoint_speed [FOLDER [MiB [RANKS [ROUNDS]]]]
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "libringrt/checkpoint/hash.h"
#include "libringrt/ringrt.h"
#include "tests/support/ranks.h"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<unsigned char>;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Seconds on the wall and of this process's CPU; where the machine is shared the second tells more.
struct Time {
    double wall_s = 0, cpu_s = 0;
};

Time now() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    auto seconds = [](timeval t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return {now_s(), seconds(use.ru_utime) + seconds(use.ru_stime)};
}

Time since(Time begun) { return {now().wall_s - begun.wall_s, now().cpu_s - begun.cpu_s}; }

[[noreturn]] void die(const char *what) {
    perror(what);
    exit(1);
}

Time write_plainly(const fs::path &path, const Bytes &bytes) {
    const Time begun = now();
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0) die("open");
    for (size_t at = 0; at < bytes.size(); at += 1 << 20) {
        size_t length = std::min<size_t>(1 << 20, bytes.size() - at);
        if (write(fd, bytes.data() + at, length) != static_cast<ssize_t>(length)) die("write");
    }
    if (fdatasync(fd) != 0 || close(fd) != 0) die("fdatasync");
    return since(begun);
}

Time read_plainly(const fs::path &path, Bytes &bytes) {
    const Time begun = now();
    int fd = open(path.c_str(), O_RDONLY);
    if (fd < 0) die("open");
    for (size_t at = 0; at < bytes.size(); at += 1 << 20)
        if (pread(fd, bytes.data() + at, std::min<size_t>(1 << 20, bytes.size() - at),
                  static_cast<off_t>(at)) <= 0)
            die("pread");
    close(fd);
    return since(begun);
}

void drop_from_cache(const fs::path &path) {
    int fd = open(path.c_str(), O_RDONLY);
    if (fd >= 0) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), close(fd);
}

void drop_all_from_cache(const fs::path &folder) {
    for (auto &entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) drop_from_cache(entry.path());
}

// One rank's life; rank 0 writes the times it saw.
int rank_body(int rank, int ranks, const fs::path &folder, size_t bytes, bool load) {
    Bytes data(bytes);
    for (size_t i = 0; i < bytes; i += 512) data[i] = static_cast<unsigned char>(i >> 9);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank;
    config.size = ranks;
    config.keep_checkpoints = 1;
    config.checkpoint_dir = folder.c_str();
    ringrt_t *rt = nullptr;
    const uint64_t shape[] = {bytes};
    uint64_t step = 0;
    if (ringrt_init(&rt, &config) != RINGRT_OK) return 1;
    ringrt_register(rt, "bytes", data.data(), RINGRT_UINT8, 1, shape);
    ringrt_barrier(rt);
    const Time begun = now();
    ringrt_status_t status = load ? ringrt_restore(rt, &step) : ringrt_save(rt, 1);
    if (status != RINGRT_OK) fprintf(stderr, "%s\n", ringrt_last_error(rt));
    const Time took = since(begun);
    if (rank == 0) std::ofstream(folder / "time") << took.wall_s << ' ' << took.cpu_s;
    ringrt_finalize(rt);
    return status == RINGRT_OK ? 0 : 1;
}

Time ringrt_time(int ranks, const fs::path &folder, size_t bytes, bool load) {
    ringrt::test::Ranks group(
        ranks, [&](int rank) { return rank_body(rank, ranks, folder, bytes, load); });
    for (int status : group.wait(600))
        if (status != 0) exit(1);
    Time took;
    std::ifstream(folder / "time") >> took.wall_s >> took.cpu_s;
    return took;
}

double median(const std::vector<Time> &times, double Time::*which) {
    std::vector<double> values;
    for (const Time &time : times) values.push_back(time.*which);
    std::ranges::sort(values);
    return values[values.size() / 2];
}

void tell(const char *what, const std::vector<Time> &plain, const std::vector<Time> &ours) {
    const double wall_s = median(plain, &Time::wall_s), cpu_s = median(plain, &Time::cpu_s);
    printf("%s: plain %.3f s (CPU %.3f), ringrt %.3f s (CPU of rank 0 %.3f): %.2fx (CPU %.2fx)\n",
           what, wall_s, cpu_s, median(ours, &Time::wall_s), median(ours, &Time::cpu_s),
           median(ours, &Time::wall_s) / wall_s, median(ours, &Time::cpu_s) / cpu_s);
}

double hash_rate(const Bytes &bytes) {
    const double begun = now_s();
    volatile uint64_t hash = 0;
    for (size_t at = 0; at < bytes.size(); at += 1 << 20)
        hash = hash ^ ringrt::checkpoint::hash64(std::as_bytes(std::span(bytes).subspan(
                          at, std::min<size_t>(1 << 20, bytes.size() - at))));
    return static_cast<double>(bytes.size()) / (now_s() - begun) / 1e9;
}

}  // namespace

int main(int argc, char **argv) {
    const fs::path folder =
        fs::path(argc > 1 ? argv[1] : "/tmp") / ("checkpoint_speed." + std::to_string(getpid()));
    const size_t mib = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1024;
    const int ranks = argc > 3 ? atoi(argv[3]) : 1, rounds = argc > 4 ? atoi(argv[4]) : 5;
    Bytes bytes(mib << 20);
    for (size_t i = 0; i < bytes.size(); i += 512) bytes[i] = static_cast<unsigned char>(i >> 9);
    std::vector<Time> save, plain_write, load, plain_read;
    for (int round = 0; round < rounds; ++round) {
        fs::create_directories(folder / "ckpt");
        plain_write.push_back(write_plainly(folder / "plain", bytes));
        save.push_back(ringrt_time(ranks, folder / "ckpt", bytes.size(), false));
        drop_all_from_cache(folder);
        plain_read.push_back(read_plainly(folder / "plain", bytes));
        drop_all_from_cache(folder);
        load.push_back(ringrt_time(ranks, folder / "ckpt", bytes.size(), true));
        fs::remove_all(folder);
    }
    printf("%zu MiB, %d ranks, medians of %d rounds, hash %.1f GB/s\n", mib, ranks, rounds,
           hash_rate(bytes));
    tell("write and sync", plain_write, save);
    tell("read", plain_read, load);
}

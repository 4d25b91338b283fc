// SPDX-License-Identifier: BSD-3-Clause
// How fast checkpoints are saved and loaded, against writing and syncing, and reading, the same bytes
// plainly. Not a test: timings depend on what else the machine does. Rounds are interleaved, caches of
// the files are dropped before reading, and the medians are told.
//
//     checkpoint_speed [FOLDER [MiB [RANKS [ROUNDS]]]]
#include <fcntl.h>
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
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void die(const char *what) {
    perror(what);
    exit(1);
}

double write_plainly(const fs::path &path, const Bytes &bytes) {
    const double begun = now_s();
    int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0) die("open");
    for (size_t at = 0; at < bytes.size(); at += 1 << 20) {
        size_t length = std::min<size_t>(1 << 20, bytes.size() - at);
        if (write(fd, bytes.data() + at, length) != static_cast<ssize_t>(length)) die("write");
    }
    if (fdatasync(fd) != 0 || close(fd) != 0) die("fdatasync");
    return now_s() - begun;
}

double read_plainly(const fs::path &path, Bytes &bytes) {
    const double begun = now_s();
    int fd = open(path.c_str(), O_RDONLY);
    if (fd < 0) die("open");
    for (size_t at = 0; at < bytes.size(); at += 1 << 20)
        if (pread(fd, bytes.data() + at, std::min<size_t>(1 << 20, bytes.size() - at), static_cast<off_t>(at)) <= 0)
            die("pread");
    close(fd);
    return now_s() - begun;
}

void drop_from_cache(const fs::path &path) {
    int fd = open(path.c_str(), O_RDONLY);
    if (fd >= 0) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), close(fd);
}

void drop_all_from_cache(const fs::path &folder) {
    for (auto &entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) drop_from_cache(entry.path());
}

struct Times {
    double save_s = 0, load_s = 0;
};

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
    const double begun = now_s();
    ringrt_status_t status = load ? ringrt_restore(rt, &step) : ringrt_save(rt, 1);
    if (status != RINGRT_OK) fprintf(stderr, "%s\n", ringrt_last_error(rt));
    const double took = now_s() - begun;
    if (rank == 0) std::ofstream(folder / "time") << took;
    ringrt_finalize(rt);
    return status == RINGRT_OK ? 0 : 1;
}

double ringrt_time(int ranks, const fs::path &folder, size_t bytes, bool load) {
    ringrt::test::Ranks group(ranks, [&](int rank) { return rank_body(rank, ranks, folder, bytes, load); });
    for (int status : group.wait(600))
        if (status != 0) exit(1);
    double took = 0;
    std::ifstream(folder / "time") >> took;
    return took;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

double hash_rate(const Bytes &bytes) {
    const double begun = now_s();
    volatile uint64_t hash = 0;
    for (size_t at = 0; at < bytes.size(); at += 1 << 20)
        hash = hash ^ ringrt::checkpoint::hash64(std::as_bytes(std::span(bytes).subspan(at, std::min<size_t>(1 << 20, bytes.size() - at))));
    return static_cast<double>(bytes.size()) / (now_s() - begun) / 1e9;
}

}  // namespace

int main(int argc, char **argv) {
    const fs::path folder = fs::path(argc > 1 ? argv[1] : "/tmp") / ("checkpoint_speed." + std::to_string(getpid()));
    const size_t mib = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1024;
    const int ranks = argc > 3 ? atoi(argv[3]) : 1, rounds = argc > 4 ? atoi(argv[4]) : 5;
    Bytes bytes(mib << 20);
    for (size_t i = 0; i < bytes.size(); i += 512) bytes[i] = static_cast<unsigned char>(i >> 9);
    std::vector<double> save, plain_write, load, plain_read;
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
    printf("%zu MiB, %d ranks, %d rounds, medians: write+sync %.3f s, save %.3f s (%.2fx); read %.3f s, load %.3f s "
           "(%.2fx); hash %.1f GB/s\n",
           mib, ranks, rounds, median(plain_write), median(save), median(save) / median(plain_write),
           median(plain_read), median(load), median(load) / median(plain_read), hash_rate(bytes));
}

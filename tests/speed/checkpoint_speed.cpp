// SPDX-License-Identifier: BSD-3-Clause
// Measures how fast checkpoints are saved and loaded, compared with dd: writing and syncing as many
// bytes, and reading the same files. It is not a test, because timings depend on the machine's
// load. Rounds are interleaved, the order alternates, and the files' caches are dropped before
// reading. It prints the median and the minimum of all rounds.
//
// Two effects are excluded. The parameters' memory stays mapped from the first to the last round:
// if a process takes new memory for each load, a virtual machine may first have to get it back from
// its host, and reading into a single MiB of that process slows down equally. And everything is
// read once before the measurement: a disk on another machine caches what was read last there, and
// the same dd takes first 1.2 s and then 0.3 s.
//
//     checkpoint_speed [DIRECTORY [MiB [RANKS [ROUNDS]]]]
#include <fcntl.h>
#include <sys/mman.h>
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

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

[[noreturn]] void die(const char *what) {
    perror(what);
    exit(1);
}

double dd_s(const std::string &arguments) {
    const double begun = now_s();
    if (system(("dd status=none bs=1M " + arguments).c_str()) != 0) die("dd");
    return now_s() - begun;
}

void drop_from_cache(const fs::path &path) {
    int fd = open(path.c_str(), O_RDONLY);
    if (fd >= 0) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), close(fd);
}

void drop_all_from_cache(const fs::path &directory) {
    for (auto &entry : fs::recursive_directory_iterator(directory))
        if (entry.is_regular_file()) drop_from_cache(entry.path());
}

// The data that the ranks save and load: `bytes` per rank, in shared memory that stays mapped.
struct Parameters {
    unsigned char *data;
    size_t bytes;

    Parameters(int ranks, size_t bytes_each) : bytes(bytes_each) {
        const size_t all = bytes * static_cast<size_t>(ranks);
        void *at = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) die("mmap");
        data = static_cast<unsigned char *>(at);
        for (size_t i = 0; i < all; i += 512) data[i] = static_cast<unsigned char>(i % bytes >> 9);
    }
    // Mapped into this process, so that no page fault occurs during a measurement.
    unsigned char *of(int rank) const {
        volatile unsigned char *mine = data + bytes * static_cast<size_t>(rank);
        for (size_t i = 0; i < bytes; i += 4096) mine[i] = mine[i];
        return const_cast<unsigned char *>(mine);
    }
};

// The life of one rank. Rank 0 writes its measured times.
int rank_body(int rank, int ranks, const fs::path &directory, const Parameters &parameters,
              bool load) {
    unsigned char *data = parameters.of(rank);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank;
    config.size = ranks;
    config.keep_checkpoints = 1;
    config.checkpoint_dir = directory.c_str();
    ringrt_t *rt = nullptr;
    const uint64_t shape[] = {parameters.bytes};
    uint64_t step = 0;
    if (ringrt_init(&rt, &config) != RINGRT_OK) return 1;
    ringrt_register(rt, "bytes", data, RINGRT_UINT8, 1, shape);
    ringrt_barrier(rt);
    const double begun = now_s();
    ringrt_status_t status = load ? ringrt_restore(rt, &step) : ringrt_save(rt, 1);
    if (status != RINGRT_OK) fprintf(stderr, "%s\n", ringrt_last_error(rt));
    const double took_s = now_s() - begun;
    if (rank == 0) std::ofstream(directory / "time") << took_s;
    ringrt_finalize(rt);
    return status == RINGRT_OK ? 0 : 1;
}

double ringrt_s(int ranks, const fs::path &directory, const Parameters &parameters, bool load) {
    ringrt::test::Ranks group(
        ranks, [&](int rank) { return rank_body(rank, ranks, directory, parameters, load); });
    for (int status : group.wait(600))
        if (status != 0) exit(1);
    double took_s = 0;
    std::ifstream(directory / "time") >> took_s;
    return took_s;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

double least(const std::vector<double> &walls) { return *std::ranges::min_element(walls); }

void tell(const char *what, const std::vector<double> &dd, const std::vector<double> &ours) {
    printf("%s: dd %.3f s, ringrt %.3f s: %.2fx; least: dd %.3f s, ringrt %.3f s: %.2fx\n", what,
           median(dd), median(ours), median(ours) / median(dd), least(dd), least(ours),
           least(ours) / least(dd));
}

double hash_rate(std::span<const unsigned char> bytes) {
    const double begun = now_s();
    volatile uint64_t hash = 0;
    for (size_t at = 0; at < bytes.size(); at += 1 << 20)
        hash = hash ^ ringrt::checkpoint::hash64(std::as_bytes(
                          bytes.subspan(at, std::min<size_t>(1 << 20, bytes.size() - at))));
    return static_cast<double>(bytes.size()) / (now_s() - begun) / 1e9;
}

}  // namespace

int main(int argc, char **argv) {
    const fs::path directory =
        fs::path(argc > 1 ? argv[1] : "/tmp") / ("checkpoint_speed." + std::to_string(getpid()));
    const size_t mib = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1024;
    const int ranks = argc > 3 ? atoi(argv[3]) : 1, rounds = argc > 4 ? atoi(argv[4]) : 5;
    constexpr int kTurns = 4;  // reads of what was written once
    const fs::path plain = directory / "plain", checkpoints = directory / "ckpt";
    const Parameters parameters(ranks, mib << 20);
    std::vector<double> save, written, load, read;
    const auto in_turns = [&](int round, auto one, auto other) {
        if (round % 2 == 0) one();
        other();
        if (round % 2 == 1) one();
    };
    const auto write_plain = [&] {
        return dd_s("conv=fsync if=/dev/zero count=" + std::to_string(mib) +
                    " of=" + plain.string());
    };
    const auto read_shards = [&] {
        drop_all_from_cache(checkpoints);
        double took_s = 0;
        for (auto &entry : fs::recursive_directory_iterator(checkpoints))
            if (entry.path().filename().string().starts_with("shard-"))
                took_s += dd_s("of=/dev/null if=" + entry.path().string());
        return took_s;
    };
    const auto restore = [&] {
        drop_all_from_cache(checkpoints);
        return ringrt_s(ranks, checkpoints, parameters, true);
    };
    for (int round = 0; round < rounds; ++round) {
        fs::create_directories(checkpoints);
        in_turns(
            round, [&] { written.push_back(write_plain()); },
            [&] { save.push_back(ringrt_s(ranks, checkpoints, parameters, false)); });
        read_shards();
        for (int turn = 0; turn < kTurns; ++turn)
            in_turns(
                turn, [&] { read.push_back(read_shards()); }, [&] { load.push_back(restore()); });
        fs::remove_all(directory);
    }
    printf("%zu MiB, %d ranks, medians of %d rounds, hash %.1f GB/s\n", mib, ranks, rounds,
           hash_rate({parameters.data, parameters.bytes}));
    tell("save", written, save);
    tell("load", read, load);
}

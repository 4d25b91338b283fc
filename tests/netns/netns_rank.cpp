// SPDX-License-Identifier: BSD-3-Clause
// One rank of tests/netns/run: RANK RANKS RENDEZVOUS BYTES. Rank 0 prints one CSV line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "libringrt/collective/communicator.h"

using namespace ringrt;

namespace {

// Seconds of one verified allreduce; counts wrong elements.
double once(Communicator &comm, std::vector<float> &data, size_t *wrong) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = float(i % 13) + float(comm.rank());
    if (comm.barrier() != RINGRT_OK) return -1;
    auto start = std::chrono::steady_clock::now();
    if (comm.allreduce(data.data(), data.data(), data.size(), RINGRT_FLOAT32, RINGRT_SUM) != RINGRT_OK) return -1;
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    float p = float(comm.size());
    for (size_t i = 0; i < data.size(); ++i) *wrong += data[i] != float(i % 13) * p + p * (p - 1) / 2;
    return seconds;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s RANK RANKS RENDEZVOUS BYTES (see tests/netns/run)\n", argv[0]);
        return 2;
    }
    CommunicatorConfig config;
    config.rank = atoi(argv[1]), config.size = atoi(argv[2]), config.rendezvous = argv[3];
    Communicator comm(std::move(config));
    if (comm.start() != RINGRT_OK) {
        fprintf(stderr, "%s\n", comm.last_error().c_str());
        return 1;
    }
    std::vector<float> data(strtoull(argv[4], nullptr, 10) / sizeof(float));
    std::vector<double> seconds;
    size_t wrong = 0, bytes = data.size() * sizeof(float);
    int rounds = bytes > (32u << 20) ? 5 : 9;
    for (int i = 0; i < rounds; ++i) seconds.push_back(once(comm, data, &wrong));
    std::sort(seconds.begin(), seconds.end());
    if (seconds.front() < 0 || comm.finish() != RINGRT_OK) {
        fprintf(stderr, "%s\n", comm.last_error().c_str());
        return 1;
    }
    double median = seconds[seconds.size() / 2], p = comm.size();
    double busbw = 2 * (p - 1) / p * double(bytes) / median / 1e9;
    if (comm.rank() == 0) printf("%d,%zu,%.1f,%.4f,%zu\n", comm.size(), bytes, median * 1e6, busbw, wrong);
    return wrong == 0 ? 0 : 1;
}

// SPDX-License-Identifier: BSD-3-Clause
// One rank of tests/multiproc/mpi-transport: allreduces of many sizes over "nodes" of argv[1] ranks
// each. It checks the sums, and rank 0 prints one hash of all bits, so that transports can be
// compared. argv[2] = "die": rank 1 is killed meanwhile; "stop": it stops.
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "libringrt/ringrt_mpi.h"

namespace {

constexpr size_t kCounts[] = {0, 1, 2, 3, 5, 255, 256, 257, 1000, 65537, 1000003};

uint64_t hash = 14695981039346656037u;  // FNV-1a

void add(const void *data, size_t bytes) {
    const auto *byte = static_cast<const unsigned char *>(data);
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * 1099511628211u;
}

// A different value for each rank and element, none exact in binary.
float value(int rank, size_t i) { return std::sin(float(i % 9973) * 0.37f + float(rank)) / 3; }

int fail(ringrt_t *rt, const char *what) {
    fprintf(stderr, "%s: %s\n", what, ringrt_last_error(rt));
    return 1;
}

bool sums(ringrt_t *rt, size_t count) {
    int rank = ringrt_rank(rt), size = ringrt_size(rt);
    std::vector<float> data(count);
    for (size_t i = 0; i < count; ++i) data[i] = value(rank, i);
    if (ringrt_allreduce(data.data(), data.data(), count, RINGRT_FLOAT32, RINGRT_SUM, rt) !=
        RINGRT_OK)
        return false;
    for (size_t i = 0; i < count; ++i) {
        float right = value(0, i);
        for (int r = 1; r < size; ++r) right += value(r, i);
        if (data[i] != right) {
            fprintf(stderr, "rank %d: element %zu of %zu is %g, not %g\n", rank, i, count,
                    double(data[i]), double(right));
            exit(3);
        }
    }
    add(data.data(), count * sizeof(float));
    return true;
}

}  // namespace

int main(int argc, char **argv) {
    int level = 0, world_rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    const char *fault = argc > 2 ? argv[2] : "";
    setenv("RINGRT_NODE", std::to_string(world_rank / std::max(1, atoi(argv[1]))).c_str(), 1);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    ringrt_t *rt = nullptr;
    if (*fault != 0) config.timeout_ms = 3000;
    if (ringrt_init_mpi(&rt, &config, MPI_COMM_WORLD) != RINGRT_OK) return fail(nullptr, "start");
    for (size_t count : kCounts) {
        if (!sums(rt, count)) return fail(rt, "allreduce");
    }
    ringrt_request_t *request = nullptr;
    float mine = float(world_rank), all = 0;
    if (ringrt_allreduce_start(&mine, &all, 1, RINGRT_FLOAT32, RINGRT_SUM, 0, rt, &request) !=
            RINGRT_OK ||
        ringrt_wait(request) != RINGRT_OK)
        return fail(rt, "started allreduce");
    if (*fault != 0) {
        if (world_rank == 1) raise(*fault == 'd' ? SIGKILL : SIGSTOP);
        bool ok = sums(rt, 1000);
        printf("rank %d: %s\n", world_rank, ok ? "no error" : ringrt_last_error(rt));
        fflush(stdout);
        sleep(30);  // mpiexec ends all ranks when the first one leaves, and some have not reported
                    // yet
        _exit(ok ? 4 : 0);
    }
    if (ringrt_rank(rt) == 0) printf("%016llx\n", static_cast<unsigned long long>(hash));
    if (ringrt_finalize(rt) != RINGRT_OK) return fail(nullptr, "finalize");
    MPI_Finalize();
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// An allreduce of more than 2 GiB, between two ranks of one node and of two. It takes 5 GiB of
// memory and about ten seconds, so only "make check-large" runs it.
#include <cstdio>
#include <string>
#include <vector>

#include "libringrt/collective/communicator.h"
#include "tests/multiproc/layout.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr size_t kCount = (size_t{1} << 29) + 5;  // floats: 2 GiB and 20 bytes
constexpr int kRanks = 2;

float element(size_t i, int rank) { return float(i % 65521) + float(rank); }

std::string run(Communicator &comm) {
    if (comm.start() != RINGRT_OK) return comm.last_error();
    std::vector<float> data(kCount);
    for (size_t i = 0; i < kCount; ++i) data[i] = element(i, comm.rank());
    ringrt_status_t status =
        comm.allreduce(data.data(), data.data(), kCount, RINGRT_FLOAT32, RINGRT_SUM);
    if (status != RINGRT_OK) return comm.last_error();
    for (size_t i = 0; i < kCount; ++i) {
        if (data[i] != element(i, 0) + element(i, 1)) return "element " + std::to_string(i);
    }
    return comm.finish() == RINGRT_OK ? "" : comm.last_error();
}

bool passes(int nodes) {
    TemporaryDirectory directory;
    Layout layout{.ranks = kRanks, .nodes = nodes};
    Ranks ranks(kRanks, [&](int rank) {
        Communicator comm(config_of(directory, layout, rank));
        std::string wrong = run(comm);
        if (!wrong.empty()) fprintf(stderr, "rank %d: %s\n", rank, wrong.c_str());
        return wrong.empty() ? 0 : 1;
    });
    bool all = ranks.wait(300) == std::vector<int>(kRanks, 0);
    printf("%s: %zu bytes, %d ranks on %d nodes\n", all ? "PASS" : "FAIL", kCount * sizeof(float),
           kRanks, nodes);
    return all;
}

}  // namespace

int main() {
    bool within = passes(1), between = passes(2);
    return within && between ? 0 : 1;
}

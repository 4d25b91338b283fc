// SPDX-License-Identifier: BSD-3-Clause
// Pollux workloads and the measurements of their applications. The input's first byte selects one
// of the four files.
#include <array>

#include "tests/fuzz/jobs.h"

using namespace ringrt;

namespace {

struct File {
    const char *name;
    std::string_view standard;
};
constexpr std::array kFiles = {
    File{"workload.csv", "name,time,application,num_replicas,batch_size\na-1,0.5,app,4,128\n"},
    File{"app/placements.csv",
         "placement,local_bsz,step_time,sync_time\n2,64,0.1,0\n"
         "11,64,0.15,0.05\n"},
    File{"app/scalability.csv",
         "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,24,64,0.3,0.1\n"},
    File{"app/validation-128.csv", "epoch,iteration,progress,grad_sqr,grad_var\n0,100,10,1,2\n"},
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const sim::WorkloadOptions options{.cluster_gpus = 8, .malleable_max = 8};
    std::string_view text = fuzz::text_of(data, size);
    const size_t replaced = fuzz::take_byte(text) % kFiles.size();
    const auto file = [&](size_t i) {
        return sim::TextFile{kFiles[i].name,
                             std::string(i == replaced ? text : kFiles[i].standard)};
    };
    const auto application = [&](const std::string &) {
        return std::vector<sim::TextFile>{file(1), file(2), file(3)};
    };
    fuzz::read_checked([&] { return sim::parse_pollux(file(0), application, options); }, options);
    return 0;
}

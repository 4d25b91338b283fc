// SPDX-License-Identifier: BSD-3-Clause
// Pollux workloads and the measurements of their applications: the first byte of the input says
// which of the four files it is.
#include <array>

#include "tests/fuzz/input_file.h"

using namespace ringrt;

namespace {

struct File {
    const char *name, *standard;
};
constexpr std::array kFiles = {
    File{"workload.csv",
         "name,time,application,num_replicas,batch_size\na-1,0,app,1,128\n"
         "a-2,10.5,app,4,256\n"},
    File{"app/placements.csv",
         "placement,local_bsz,step_time,sync_time\n1,64,0.1,0\n"
         "2,64,0.11,0.01\n4,64,0.12,0.02\n11,64,0.15,0.05\n44,64,0.2,0.1\n"},
    File{"app/scalability.csv",
         "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,24,64,0.3,0.1\n"},
    File{"app/validation-128.csv",
         "epoch,iteration,progress,grad_sqr,grad_var\n0,100,10,1,2\n1,200,20,0.5,3\n"},
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static fuzz::InputFolder folder;
    static const sim::WorkloadOptions options{
        .profiles_dir = folder.path().string(), .cluster_gpus = 8, .malleable_max = 8};
    static std::array<bool, kFiles.size()> is_standard{};
    static const bool made = std::filesystem::create_directory(folder.path() / "app");
    fuzz::expect(made, "a folder");
    std::string_view text = fuzz::text_of(data, size);
    const size_t replaced = fuzz::take_byte(text) % kFiles.size();
    for (size_t i = 0; i < kFiles.size(); ++i) {
        if (i != replaced && is_standard[i]) continue;
        folder.put(kFiles[i].name, i == replaced ? text : kFiles[i].standard);
        is_standard[i] = i != replaced;
    }
    fuzz::read_checked(
        [] { return sim::read_pollux((folder.path() / kFiles[0].name).string(), options); },
        options);
    return 0;
}

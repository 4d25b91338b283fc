// SPDX-License-Identifier: BSD-3-Clause
// ElasticFlow traces and their throughput tables. The input's first byte selects one of the two.
#include "tests/fuzz/jobs.h"

using namespace ringrt;

namespace {

constexpr std::string_view kTable = "global_batch_size,1,2,4\n32,10,,30\n";
constexpr std::string_view kTrace = "job_id,submission_time,duration,num_gpu\n1,5,100,4\n";

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const sim::WorkloadOptions options{.cluster_gpus = 8, .malleable_max = 8};
    std::string_view text = fuzz::text_of(data, size);
    const bool is_table = fuzz::take_byte(text) % 2 == 1;
    sim::TextFile trace{"trace.csv", std::string(is_table ? kTrace : text)};
    sim::TextFile table{"model.csv", std::string(is_table ? text : kTable)};
    fuzz::read_checked(
        [&] { return sim::parse_elasticflow(std::move(trace), {std::move(table)}, options); },
        options);
    return 0;
}

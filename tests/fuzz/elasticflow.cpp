// SPDX-License-Identifier: BSD-3-Clause
// ElasticFlow traces, and their throughput tables: the first byte of the input says which of the
// two it is.
#include "tests/fuzz/input_file.h"

using namespace ringrt;

namespace {

constexpr const char *kTable = "global_batch_size,1,2,4\n32,10,18,30\n64,8,,25\n";
constexpr const char *kTrace =
    "job_id,submission_time,duration,num_gpu\n1,0,100,1\n2,5,60,2\n3,5.5,1,4\n";

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static fuzz::InputFile trace;
    static fuzz::InputFolder tables;
    static const sim::WorkloadOptions options{
        .profiles_dir = tables.path().string(), .cluster_gpus = 8, .malleable_max = 8};
    static bool table_is_ours = false;
    std::string_view text = fuzz::text_of(data, size);
    const bool is_table = fuzz::take_byte(text) % 2 == 1;
    trace.hold(is_table ? kTrace : text);
    if (is_table || !table_is_ours) tables.put("model.csv", is_table ? text : kTable);
    table_is_ours = !is_table;
    fuzz::read_checked([] { return sim::read_elasticflow(trace.path(), options); }, options);
    return 0;
}

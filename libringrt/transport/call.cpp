// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/transport.h"

namespace ringrt {
namespace {

const char *dtype_name(uint8_t dtype) {
    constexpr const char *kNames[] = {"float32", "float64", "float16", "bfloat16",
                                      "int32",   "int64",   "uint8"};
    return dtype < std::size(kNames) ? kNames[dtype] : "?";
}

const char *op_name(uint8_t op) {
    constexpr const char *kNames[] = {"sum", "average", "min", "max", "product"};
    return op < std::size(kNames) ? kNames[op] : "?";
}

}  // namespace

std::string describe(const Call &call) {
    auto count = static_cast<unsigned long long>(call.count);
    const char *dtype = dtype_name(call.dtype);
    switch (call.kind) {
        case kAllreduce:
            return format_line("allreduce of %llu %s (%s)", count, dtype, op_name(call.op));
        case kDeviceAllreduce:
            return format_line("allreduce of %llu %s (%s) on GPUs", count, dtype, op_name(call.op));
        case kReduceScatter:
            return format_line("reduce_scatter of %llu %s (%s)", count, dtype, op_name(call.op));
        case kAllGather:
            return format_line("all_gather of %llu bytes each", count);
        case kAllGatherShares:
            return format_line("all_gather of %llu %s", count, dtype);
        case kBroadcast:
            return format_line("broadcast of %llu bytes", count);
        case kBarrier:
            return "barrier";
        case kFinish:
            return "finalize";
        default:
            return "unknown operation";
    }
}

}  // namespace ringrt

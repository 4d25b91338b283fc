// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/dtype.h"
#include "libringrt/transport/transport.h"

namespace ringrt {
namespace {

const char *dtype_name(uint8_t dtype) {
    const Dtype *known = dtype_of(dtype);
    return known ? known->name.data() : "?";  // the table's names end with 0
}

const char *op_name(uint8_t op) {
    constexpr const char *kNames[] = {"sum", "average", "min", "max", "product"};
    return op < std::size(kNames) ? kNames[op] : "?";
}

}  // namespace

std::string describe(const OpHeader &call) {
    auto count = static_cast<unsigned long long>(call.count);
    const char *dtype = dtype_name(call.dtype);
    switch (call.kind) {
        case kAllreduce:
            return format_text("allreduce of %llu %s (%s)", count, dtype, op_name(call.op));
        case kDeviceAllreduce:
            return format_text("allreduce of %llu %s (%s) on GPUs", count, dtype, op_name(call.op));
        case kReduceScatter:
            return format_text("reduce_scatter of %llu %s (%s)", count, dtype, op_name(call.op));
        case kAllGather:
            return format_text("all_gather of %llu bytes each", count);
        case kAllGatherShares:
            return format_text("all_gather of %llu %s", count, dtype);
        case kBroadcast:
            return format_text("broadcast of %llu bytes", count);
        case kBarrier:
            return "barrier";
        case kFinish:
            return "finalize";
        default:
            return "unknown operation";
    }
}

}  // namespace ringrt

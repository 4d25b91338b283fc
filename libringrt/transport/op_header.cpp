// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/base/dtype.h"
#include "libringrt/transport/transport.h"

namespace ringrt {
namespace {

const char *dtype_name(uint8_t dtype) {
    const Dtype *known = dtype_of(dtype);
    return known ? known->name.data() : "?";  // the table's names are 0-terminated
}

const char *op_name(uint8_t op) {
    constexpr const char *kNames[] = {"sum", "average", "min", "max", "product"};
    return op < std::size(kNames) ? kNames[op] : "?";
}

// Describes a Choice::code() (schedule/choice.h) that is not the default.
std::string choice_text(uint8_t code) {
    constexpr const char *kOrders[] = {"rank", "ring", "tree"};
    constexpr const char *kAlgorithms[] = {
        "auto",  "one_shot", "direct",           "halving_doubling",
        "chain", "ring",     "halving_doubling", "tree"};
    const unsigned order = code >> 4, algorithm = code & 15u;
    if (code == 0 || order >= std::size(kOrders) || algorithm >= std::size(kAlgorithms)) return "";
    return format_text(" in %s order by %s", kOrders[order], kAlgorithms[algorithm]);
}

std::string describe_call(const OpHeader &call) {
    auto count = static_cast<unsigned long long>(call.count);
    const char *dtype = dtype_name(call.dtype);
    switch (call.kind) {
        case kAllreduce:
            return format_text("allreduce of %llu %s (%s)%s", count, dtype, op_name(call.op),
                               choice_text(call.detail).c_str());
        case kDeviceAllreduce:
            return format_text("allreduce of %llu %s (%s) on GPUs", count, dtype, op_name(call.op));
        case kReduceScatter:
            return format_text("reduce_scatter of %llu %s in total (%s)%s", count, dtype,
                               op_name(call.op), choice_text(call.detail).c_str());
        case kAllGather:
            return format_text("allgather of %llu bytes of each", count);
        case kAllGatherShares:
            return format_text("allgather of %llu %s in total", count, dtype);
        case kBroadcast:
            return format_text("broadcast of %llu bytes", count);
        case kAllToAll:
            return format_text("alltoall of %llu %s for each", count, dtype);
        case kGather:
            return format_text("gather of %llu %s of each", count, dtype);
        case kScatter:
            return format_text("scatter of %llu %s for each", count, dtype);
        case kPointToPoint:
            return count == 1 ? "a send or a receive"
                              : format_text("%llu sends and receives", count);
        case kLargest:
            return "agreement of a step";
        case kBarrier:
            return "barrier";
        case kFinish:
            return "finalize";
        default:
            return "unknown operation";
    }
}

}  // namespace

std::string describe(const OpHeader &call) {
    if (call.gpu_calls == 0) return describe_call(call);
    return format_text("%s after %u calls on GPUs (hash %u)", describe_call(call).c_str(),
                       call.gpu_calls, call.gpu_hash);
}

}  // namespace ringrt

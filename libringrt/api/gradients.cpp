// SPDX-License-Identifier: BSD-3-Clause
// Gradient reduction.
#include <cstdlib>

#include "libringrt/api/handle.h"
#include "libringrt/base/format.h"
#include "libringrt/gpu/device_collectives.h"
#include "libringrt/reduce/reduce.h"

namespace ringrt {
namespace {

// Learned profiles are stored in checkpoints; speeds planned for other sizes go to the scheduler.
void connect_boundary(ringrt_t &rt) {
    rt.reducer->restore(rt.boundary->restored_gradients());
    rt.boundary->set_gradients(
        {.layout = [&rt] { return rt.reducer->layout(); },
         .learned = [&rt] { return rt.reducer->learned(); },
         .add_planned =
             [&rt](records::Telemetry &telemetry) {
                 for (const GradientReducer::PlannedSpeed &speed : rt.reducer->planned_speeds())
                     if (telemetry.planned_sizes < records::kPlannedSpeedsMax && speed.step_ms > 0)
                         telemetry.planned[static_cast<size_t>(telemetry.planned_sizes++)] = {
                             speed.ranks, speed.step_ms};
             }});
}

// Selects the planning rule from RINGRT_GROUPING.
Status chosen_rule(const bucketing::Rule **rule) {
    const char *name = getenv("RINGRT_GROUPING");
    if (!name || !*name) name = "predictive";
    *rule = bucketing::find_rule(name);
    if (*rule) return {};
    return {RINGRT_INVALID_ARGUMENT, format_text("RINGRT_GROUPING: expected %s, got \"%.40s\"",
                                                 bucketing::rule_names().c_str(), name)};
}

Status register_gradient(ringrt_t &rt, const char *name, size_t count, ringrt_dtype_t dtype,
                         ringrt_op_t op, int *id) {
    if (!name || !id) return invalid("name or id is NULL");
    if (!can_reduce(dtype, op))
        return invalid("dtype or op is not one of ringrt.h, or it is the average of bool");
    if (!rt.reducer) {
        const char *trace = getenv("RINGRT_TRACE"), *profile = getenv("RINGRT_PROFILE");
        const bucketing::Rule *rule = nullptr;
        if (Status known = chosen_rule(&rule); !known.ok()) return known;
        rt.gradient_dtype = dtype;
        rt.gradient_op = op;
        rt.reducer = std::make_unique<GradientReducer>(
            rt.communicator(),
            GradientReducerConfig{.dtype = dtype,
                                  .op = op,
                                  .rule = rule,
                                  .whole_steps = rt.resizer != nullptr,
                                  .trace_file = trace ? trace : "",
                                  .trace_job = rt.settings.is_extension ? rt.settings.job : 0,
                                  .trace_rank = rt.settings.rank,
                                  .profile_file = profile ? profile : "",
                                  .samples_per_rank = [batch = rt.settings.batch](int ranks) {
                                      return static_cast<double>(samples_per_step(batch, ranks)) /
                                             ranks;
                                  }});
        connect_boundary(rt);
    }
    if (dtype != rt.gradient_dtype || op != rt.gradient_op)
        return invalid("all gradients must have the same dtype and op");
    return rt.reducer->add(name, count, id);
}

Status report_ready(ringrt_t &rt, int id, void *buffer) {
    if (!rt.reducer) return invalid("no gradient was registered");
    if (rt.resizer && rt.resizer->is_outside()) return rt.group.outcome(RINGRT_INVALID_ARGUMENT);
    bool on_gpu = false;
    RINGRT_TRY(rt.communicator().device().memory_kind_of(buffer, buffer, &on_gpu));
    return rt.reducer->ready(id, buffer,
                             on_gpu ? GradientReducer::Place::Gpu : GradientReducer::Place::Host);
}

}  // namespace
}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_gradient_register(ringrt_t *rt, const char *name, size_t count,
                                         ringrt_dtype_t dtype, ringrt_op_t op, int *id) {
    return guard(rt, [&] { return register_gradient(*rt, name, count, dtype, op, id); });
}

ringrt_status_t ringrt_gradient_ready(ringrt_t *rt, int id, void *buffer) {
    return guard(rt, [&] { return report_ready(*rt, id, buffer); });
}

ringrt_status_t ringrt_gradient_wait(ringrt_t *rt, int id, const void **sum) {
    return guard(rt, [&] {
        if (!rt->reducer) return invalid("no gradient was registered");
        return rt->reducer->wait(id, sum);
    });
}

}  // extern "C"

// SPDX-License-Identifier: BSD-3-Clause
// Training calls: batch, buffers, checkpoints and steps.
#include "libringrt/api/handle.h"

namespace ringrt {
namespace {

Status restore(ringrt_t &rt, uint64_t *step) {
    const bool loads = !rt.resizer || !rt.resizer->must_recover();
    if (rt.resizer && rt.reducer) rt.reducer->discard_lost_step();
    RINGRT_TRY(check_idle(rt));
    if (!step) return invalid("step is NULL");
    RINGRT_TRY(rt.boundary->restore(*step));
    if (loads && rt.reducer) rt.reducer->restore(rt.boundary->restored_gradients());
    return {};
}

// The other ranks do not wait for one that cannot continue.
template <typename Body>
Status collective(ringrt_t &rt, Body &&body) {
    return abort_if_thrown(body, [&] { rt.group.abort(); });
}

}  // namespace
}  // namespace ringrt

using namespace ringrt;

extern "C" {

ringrt_status_t ringrt_batch(const ringrt_t *rt, ringrt_batch_t *out) {
    return guard(rt, [&] {
        if (!out) return invalid("out is NULL");
        const job::Progress &progress = rt->boundary->progress();
        return share_of_batch(progress.batch(), rt->group.rank(), rt->group.size(),
                              progress.samples(), *out);
    });
}

ringrt_status_t ringrt_set_batch(ringrt_t *rt, uint32_t global_batch) {
    return guard_alone(rt, [&] { return rt->boundary->progress().set_batch(global_batch); });
}

uint64_t ringrt_sample(uint64_t seed, uint64_t epoch, uint64_t samples, uint64_t position) {
    return sample_at(seed, epoch, samples, position);
}

ringrt_status_t ringrt_register(ringrt_t *rt, const char *name, void *data, ringrt_dtype_t dtype,
                                int ndim, const uint64_t *shape) {
    return guard(rt, [&] {
        checkpoint::Buffer buffer{.data = static_cast<std::byte *>(data)};
        if (Status valid = describe(name, dtype, ndim, shape, buffer.parameter); !valid.ok())
            return valid;
        buffer.bytes = bytes_of(buffer.parameter);
        return rt->registered.add(std::move(buffer));
    });
}

ringrt_status_t ringrt_register_rows(ringrt_t *rt, const char *name, void *data,
                                     ringrt_dtype_t dtype, int ndim, const uint64_t *shape,
                                     uint64_t first_row, uint64_t rows) {
    return guard(rt, [&] {
        checkpoint::Buffer buffer{.data = static_cast<std::byte *>(data)};
        if (Status can = not_live(*rt, "ringrt_register_rows()"); !can.ok()) {
            can.message += ": ringrt_register_placed_rows() can";
            return can;
        }
        if (Status valid = describe(name, dtype, ndim, shape, buffer.parameter); !valid.ok())
            return valid;
        if (ndim == 0) return invalid("a scalar has no rows: use ringrt_register()");
        if (first_row > shape[0] || rows > shape[0] - first_row)
            return invalid("first_row and rows are outside the first extent");
        hold_block(buffer, checkpoint::rows_block(buffer.parameter.shape, first_row, rows));
        return rt->registered.add(std::move(buffer));
    });
}

ringrt_status_t ringrt_register_placed_rows(ringrt_t *rt, const char *name, ringrt_dtype_t dtype,
                                            int ndim, const uint64_t *shape, ringrt_place_fn place,
                                            ringrt_release_fn release, void *context) {
    return guard(rt, [&] {
        if (!place || !release) return invalid("place and release are both needed");
        checkpoint::Parameter parameter;
        RINGRT_TRY(describe(name, dtype, ndim, shape, parameter));
        if (ndim == 0) return invalid("a scalar has no rows: use ringrt_register()");
        const bool outside = rt->resizer && rt->resizer->is_outside();
        return rt->rows.add(parameter, {place, release, context}, rt->group.rank(),
                            outside ? 0 : rt->group.size());
    });
}

ringrt_status_t ringrt_rows(const ringrt_t *rt, const char *name, ringrt_rows_t *out) {
    return guard(rt, [&] {
        if (!out) return invalid("out is NULL");
        const checkpoint::Buffer *rows = rt->rows.find(name ? name : "");
        if (!rows) return invalid("no rows were placed for a buffer of that name");
        *out = {rows->block.offset[0], rows->block.extent[0], rows->data};
        return Status{};
    });
}

ringrt_status_t ringrt_set_saver(ringrt_t *rt, ringrt_checkpoint_saver_fn save,
                                 ringrt_checkpoint_saver_fn load, void *context) {
    return guard(rt, [&] {
        if (!save || !load) return invalid("save and load are both needed");
        if (rt->resizer && !rt->resizer->has_program())
            return Status{RINGRT_UNSUPPORTED,
                          "ringrt_set_saver() needs ringrt_set_live_state() before it with "
                          "live_resize"};
        rt->boundary->set_program({save, load, context});
        return Status{};
    });
}

ringrt_status_t ringrt_set_live_state(ringrt_t *rt, ringrt_pack_fn pack, ringrt_unpack_fn unpack,
                                      void *context) {
    return guard(rt, [&] {
        if (!pack || !unpack) return invalid("pack and unpack are both needed");
        if (rt->resizer) rt->resizer->set_program({pack, unpack, context});
        return Status{};
    });
}

ringrt_status_t ringrt_restore(ringrt_t *rt, uint64_t *step) {
    return guard(rt, [&] { return collective(*rt, [&] { return restore(*rt, step); }); });
}

ringrt_status_t ringrt_save(ringrt_t *rt, uint64_t step) {
    return guard_alone(rt,
                       [&] { return collective(*rt, [&] { return rt->boundary->save(step); }); });
}

ringrt_status_t ringrt_step(ringrt_t *rt, uint64_t step, ringrt_action_t *action) {
    return guard_alone(rt, [&] {
        if (!action) return invalid("action is NULL");
        if (rt->left)
            return invalid("the last action was RINGRT_LEAVE: call ringrt_finalize() and end");
        Status stepped = collective(*rt, [&] { return rt->boundary->step(step, *action); });
        rt->left = stepped.ok() && *action == RINGRT_LEAVE;
        return stepped;
    });
}

ringrt_status_t ringrt_set_loss(ringrt_t *rt, double loss, double goal) {
    return guard(rt, [&] {
        if (rt->group.rank() == 0) rt->boundary->progress().record_loss(loss, goal);
        return Status{};
    });
}

ringrt_status_t ringrt_set_steps_left(ringrt_t *rt, uint64_t steps_left) {
    return guard(rt, [&] { return rt->boundary->progress().set_steps_left(steps_left); });
}

ringrt_status_t ringrt_set_samples_left(ringrt_t *rt, uint64_t samples_left) {
    return guard(rt, [&] { return rt->boundary->progress().set_samples_left(samples_left); });
}

}  // extern "C"

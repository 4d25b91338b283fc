// SPDX-License-Identifier: BSD-3-Clause
// ringrt_register_placed_rows() on one rank. For ranks that join and leave see
// tests/multiproc/test_live_rows.
#include "tests/support/alone.h"

using namespace ringrt::test;

namespace {

// Rows that a program places, of a matrix of 3 rows and 2 columns.
struct Placed {
    uint64_t first = 0, count = 3;
    bool fails = false, is_null = false;
    float memory[6] = {};
    int held = 0;

    static int place(void *context, int rank, int size, ringrt_rows_t *out) {
        auto &self = *static_cast<Placed *>(context);
        if (self.fails || rank != 0 || size != 1) return 1;
        *out = {self.first, self.count, self.is_null ? nullptr : self.memory};
        ++self.held;
        return 0;
    }
    static void release(void *context, void *) { --static_cast<Placed *>(context)->held; }
    ringrt_status_t add(ringrt_t *rt, const char *name) {
        const uint64_t shape[2] = {3, 2};
        return ringrt_register_placed_rows(rt, name, RINGRT_FLOAT32, 2, shape, place, release,
                                           this);
    }
};

}  // namespace

TEST(placed_rows_that_are_refused_are_released) {
    Alone alone;
    ringrt_t *rt = alone.rt;
    const uint64_t shape[2] = {3, 2};
    Placed fails{.fails = true}, outside{.first = 1}, huge{.first = UINT64_MAX},
        null{.is_null = true};
    for (Placed *each : {&outside, &huge, &null}) {
        expect(rt, each->add(rt, "m"), RINGRT_INVALID_ARGUMENT,
               "the program placed the rows of buffer m outside its first extent, or at NULL");
        ck_assert_int_eq(each->held, 0);
    }
    expect(rt, fails.add(rt, "m"), RINGRT_SYSTEM_ERROR,
           "the program could not place the rows of buffer m for rank 0 of 1");
    expect(rt,
           ringrt_register_placed_rows(rt, "m", RINGRT_FLOAT32, 2, shape, Placed::place, nullptr,
                                       &fails),
           RINGRT_INVALID_ARGUMENT, "place and release are both needed");
    expect(rt,
           ringrt_register_placed_rows(rt, "m", RINGRT_FLOAT32, 0, shape, Placed::place,
                                       Placed::release, &fails),
           RINGRT_INVALID_ARGUMENT, "a scalar has no rows: use ringrt_register()");
    ringrt_rows_t rows;
    expect(rt, ringrt_rows(rt, "m", &rows), RINGRT_INVALID_ARGUMENT,
           "no rows were placed for a buffer of that name");
    Placed first, second;
    ck_assert_int_eq(first.add(rt, "m"), RINGRT_OK);
    expect(rt, second.add(rt, "m"), RINGRT_INVALID_ARGUMENT,
           "a buffer of that name is registered already");
    ck_assert_int_eq(second.held, 0);
    ck_assert_int_eq(first.held, 1);
}

TEST(placed_rows_are_saved_loaded_and_released_at_the_end) {
    Placed rows;
    {
        Alone alone;
        ck_assert_int_eq(rows.add(alone.rt, "m"), RINGRT_OK);
        rows.memory[5] = 7;
        ck_assert_int_eq(ringrt_save(alone.rt, 1), RINGRT_OK);
        rows.memory[5] = 8;
        uint64_t step = 0;
        ck_assert_int_eq(ringrt_restore(alone.rt, &step), RINGRT_OK);
        ck_assert(step == 1 && rows.memory[5] == 7);
        ringrt_rows_t held;
        ck_assert_int_eq(ringrt_rows(alone.rt, "m", &held), RINGRT_OK);
        ck_assert(held.first == 0 && held.count == 3 && held.data == rows.memory);
    }
    ck_assert_int_eq(rows.held, 0);
}

TEST(rows_that_cannot_move_are_refused_with_live_resize) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.live_resize = 1;
    Alone alone(config);
    const uint64_t shape[2] = {3, 2};
    float memory[6] = {};
    expect(alone.rt, ringrt_register_rows(alone.rt, "m", memory, RINGRT_FLOAT32, 2, shape, 0, 3),
           RINGRT_UNSUPPORTED,
           "ringrt_register_rows() cannot be used with live_resize: ringrt_register_placed_rows() "
           "can");
    Placed rows;
    ck_assert_int_eq(rows.add(alone.rt, "m"), RINGRT_OK);
}

int main() { return run_all("placed_rows"); }

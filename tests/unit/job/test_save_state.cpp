// SPDX-License-Identifier: BSD-3-Clause
// Every state and event of the drawing in save_state.h.
#include "libringrt/job/save_state.h"
#include "tests/support/check.h"

using namespace ringrt;
using namespace ringrt::job;
using Now = SaveState::Now;

namespace {

constexpr uint64_t kStep = 7;

// In the state `now`, after a save that began at step 5.
SaveState in(Now now, bool is_asked) {
    SaveState out(true);
    if (now == Now::begin) (void)out.at_step(5, {.save_due = true}, 1);
    if (now == Now::under_way || now == Now::end) out.begun(5, {}, 1);
    if (now == Now::end) (void)out.at_step(6, {.asked = is_asked, .written = true}, 2);
    if (now == Now::save) (void)out.at_step(5, {.asked = true}, 1);
    return out;
}

}  // namespace

TEST(at_a_step_asked_comes_before_written_and_due) {
    for (const bool in_background : {false, true})
        for (int bits = 0; bits < 8; ++bits)
            for (const bool is_under_way : {false, true}) {
                const StepFlags agreed{.asked = (bits & 1) != 0,
                                       .written = (bits & 2) != 0,
                                       .save_due = (bits & 4) != 0};
                SaveState saves(in_background);
                if (is_under_way) saves.begun(5, {}, 1);
                ringrt_action_t expected = RINGRT_CONTINUE;
                if (is_under_way && (agreed.asked || agreed.written))
                    expected = RINGRT_SAVE_END;
                else if (!is_under_way && agreed.asked)
                    expected = RINGRT_SAVE;
                else if (!is_under_way && agreed.save_due)
                    expected = in_background ? RINGRT_SAVE_BEGIN : RINGRT_SAVE;
                ck_assert_int_eq(saves.at_step(kStep, agreed, 2), expected);
            }
}

TEST(the_next_step_waits_for_the_report) {
    for (const Now now : {Now::idle, Now::begin, Now::under_way, Now::end, Now::save}) {
        const SaveState saves = in(now, false);
        ck_assert(saves.now() == now);
        ck_assert_int_eq(saves.check_step().ok(), now == Now::idle || now == Now::under_way);
        ck_assert_int_eq(saves.check_begin().ok(), now == Now::idle || now == Now::begin);
    }
}

TEST(a_report_is_about_the_save_that_began) {
    for (const Now now : {Now::idle, Now::begin, Now::under_way, Now::end, Now::save})
        for (const bool is_asked : {false, true}) {
            SaveState saves = in(now, is_asked);
            const SaveState::Saved of = saves.saved(kStep, 3);
            ck_assert_uint_eq(of.step, now == Now::idle ? kStep : 5);
            ck_assert(of.begun_s == (now == Now::idle ? 0 : 1));
            ck_assert_int_eq(of.is_to_leave, now == Now::save);
            const bool again = now == Now::end && is_asked;
            ck_assert_int_eq(of.next, again ? RINGRT_SAVE : RINGRT_CONTINUE);
            ck_assert(saves.now() == (again ? Now::save : Now::idle));
            if (!again) continue;
            const SaveState::Saved last = saves.saved(kStep, 9);
            ck_assert(last.step == kStep && last.begun_s == 3 && last.is_to_leave);
            ck_assert(saves.now() == Now::idle);
        }
}

TEST(a_failure_to_begin_lasts_until_the_report) {
    SaveState saves = in(Now::begin, false);
    saves.begun(5, {RINGRT_CHECKPOINT_FAILED, "disk"}, 2);
    EXPECT_TEXT(saves.failure().message, "disk");
    (void)saves.at_step(6, {.written = true}, 3);
    EXPECT_TEXT(saves.failure().message, "disk");
    ck_assert(saves.saved(6, 4).begun_s == 1);  // from when the job asked for it
    ck_assert(saves.failure().ok());
    saves = in(Now::begin, false);
    saves.could_not_begin();
    ck_assert(saves.now() == Now::idle);
}

int main() { return ringrt::test::run_all("save_state"); }

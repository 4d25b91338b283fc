// SPDX-License-Identifier: BSD-3-Clause
// The agreement at a step's end, as the largest value of each byte.
#include "libringrt/job/step_vote.h"
#include "tests/support/check.h"

using namespace ringrt::job;

namespace {

StepFlags flags_of(unsigned bits) {
    return {.asked = (bits & 1) != 0,
            .ended = (bits & 2) != 0,
            .written = (bits & 4) != 0,
            .save_due = (bits & 8) != 0,
            .cut_off = (bits & 16) != 0};
}

TEST(the_largest_votes_are_the_agreement) {
    for (unsigned first = 0; first < 32; ++first) {
        for (unsigned second = 0; second < 32; ++second) {
            const StepFlags of_0 = flags_of(first), of_1 = flags_of(second);
            StepVote vote(70000, of_0, true);
            vote.add(StepVote(70000, of_1, false));
            ck_assert(vote.is_of_one_step());
            const StepFlags agreed = vote.flags();
            ck_assert_int_eq(agreed.asked, of_0.asked || of_1.asked);
            ck_assert_int_eq(agreed.ended, of_0.ended || of_1.ended);
            ck_assert_int_eq(agreed.written, of_0.written && of_1.written);
            ck_assert_int_eq(agreed.save_due, of_0.save_due);
            ck_assert_int_eq(agreed.cut_off, of_0.cut_off);
        }
    }
}

TEST(votes_of_two_steps_are_noticed) {
    for (const uint64_t step : {0, 1, 255, 70000}) {
        for (const uint64_t ahead : {1, 2, 255, 256, 257, 4096, 65535}) {
            StepVote vote(step, {}, true);
            vote.add(StepVote(step, {}, false));
            ck_assert(vote.is_of_one_step());
            vote.add(StepVote(step + ahead, {}, false));
            ck_assert(!vote.is_of_one_step());
        }
    }
}

}  // namespace

int main() { return ringrt::test::run_all("step_vote"); }

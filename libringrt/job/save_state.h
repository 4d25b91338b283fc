// SPDX-License-Identifier: BSD-3-Clause
// What a job handle has asked its program to save, and what the program has reported. PURE.
//
// clang-format off
//     idle ──due──► begin ──begun──► under way ──written, or asked──► end ──saved──► idle; save if asked
//      │              └──saved──► idle   └──saved──► idle
//      ├──begun (the program's own choice)──► under way
//      └──due in the foreground, or asked──► save ──saved──► idle
//     any ──a rank is lost, and the others go on──► idle
// clang-format on
//
// due: a periodic save. asked: the scheduler waits for a save, to resize the job. The save that is
// under way is of an older step, so a resize needs another one.
#pragma once

#include <cstdint>
#include <utility>

#include "libringrt/base/status.h"
#include "libringrt/job/step_vote.h"

namespace ringrt::job {

class SaveState {
  public:
    enum class Now { idle, begin, under_way, end, save };

    explicit SaveState(bool in_background) : in_background_(in_background) {}

    [[nodiscard]] Now now() const { return now_; }
    // The failure of a rank that could not begin the save that is under way.
    [[nodiscard]] const Status &failure() const { return failure_; }

    // Why the program may not go on to the next step, and why it may not begin a save.
    [[nodiscard]] Status check_step() const {
        if (now_ == Now::begin)
            return {RINGRT_INVALID_ARGUMENT,
                    "the last action was RINGRT_SAVE_BEGIN: call ringrt_job_saving() first"};
        if (now_ == Now::end)
            return {RINGRT_INVALID_ARGUMENT,
                    "the last action was RINGRT_SAVE_END: call ringrt_job_saved() first"};
        if (now_ == Now::save)
            return {RINGRT_INVALID_ARGUMENT,
                    "the last action was RINGRT_SAVE: call ringrt_job_saved() first"};
        return {};
    }
    [[nodiscard]] Status check_begin() const {
        if (now_ == Now::begin) return {};
        if (now_ == Now::under_way)
            return {RINGRT_INVALID_ARGUMENT,
                    "ringrt_job_saving() was called before: call ringrt_job_saved() first"};
        return check_step();
    }

    // At the end of a step, by what all ranks agreed. Returns the action.
    ringrt_action_t at_step(uint64_t step, const StepFlags &agreed, double now_s) {
        is_asked_ = agreed.asked;
        if (now_ == Now::under_way) {
            if (!agreed.asked && !agreed.written) return RINGRT_CONTINUE;
            now_ = Now::end;
            return RINGRT_SAVE_END;
        }
        if (!agreed.asked && !agreed.save_due) return RINGRT_CONTINUE;
        const bool is_begin = in_background_ && !agreed.asked;
        now_ = is_begin ? Now::begin : Now::save;
        step_ = step;
        begun_s_ = now_s;
        return is_begin ? RINGRT_SAVE_BEGIN : RINGRT_SAVE;
    }

    // The program has begun a save of `step`, except at ranks with a failure, of which this is one.
    void begun(uint64_t step, Status failure, double now_s) {
        if (now_ != Now::begin) begun_s_ = now_s;
        step_ = step;
        failure_ = std::move(failure);
        now_ = Now::under_way;
    }
    void could_not_begin() { now_ = Now::idle; }           // no rank could
    void give_up() { *this = SaveState(in_background_); }  // a rank is lost, or ranks have changed

    struct Saved {
        uint64_t step;
        double begun_s;  // 0: not known
        bool is_to_leave;
        ringrt_action_t next;  // SAVE, or CONTINUE
    };
    // A save has ended. After the last step, `step`, if it was the program's own choice.
    Saved saved(uint64_t step, double now_s) {
        const Now before = std::exchange(now_, Now::idle);
        failure_ = {};
        if (before == Now::idle) return {step, 0, false, RINGRT_CONTINUE};
        const Saved out{step_, begun_s_, before == Now::save && is_asked_, RINGRT_CONTINUE};
        if (before != Now::end || !is_asked_) return out;
        now_ = Now::save;
        step_ = step;
        begun_s_ = now_s;
        return {out.step, out.begun_s, false, RINGRT_SAVE};
    }

  private:
    bool in_background_;
    Now now_ = Now::idle;
    bool is_asked_ = false;
    uint64_t step_ = 0;
    double begun_s_ = 0;
    Status failure_;
};

}  // namespace ringrt::job

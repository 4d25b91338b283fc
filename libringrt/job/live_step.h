// SPDX-License-Identifier: BSD-3-Clause
// The step boundary of a job whose ranks join and leave (doc/live.md): what a job (job.h) and its
// resizer do together, apart from saves. ringrt_t and ringrt_job_t run on it. Without a resizer the
// job is resized only by requeue.
#pragma once

#include <string>
#include <vector>

#include "libringrt/job/job.h"
#include "libringrt/live/resizer.h"

namespace ringrt::job {

class LiveStep {
  public:
    LiveStep(const Settings &settings, Group &group, Job &job)
        : settings_(settings), group_(group), job_(job) {}

    // What every resizer of this job needs. The caller adds the rest.
    [[nodiscard]] live::ResizerOptions resizer_options() const;
    // Call before start().
    void use(live::Resizer *resizer) { resizer_ = resizer; }
    [[nodiscard]] live::Resizer *resizer() const { return resizer_; }
    Status start();
    Status catch_sigterm();
    // For an extension's rank.
    [[nodiscard]] bool asked_to_leave() const { return job_.is_asked() || sigterm_.count() > 0; }

    // `hold`: this rank saves, or will, so that no rank joins now; `stay`: and it does not leave.
    struct Wishes {
        StepFlags flags;
        bool hold = false, stay = false;
    };
    // Collective.
    Status agree(uint64_t step, const Wishes &mine, StepFlags &agreed);
    // After agree(): whether extensions have to leave, but stay until a save has ended.
    [[nodiscard]] bool is_held() const { return held_; }
    // After agree(): whether ranks leave now.
    [[nodiscard]] bool narrows() const { return resizer_ && resizer_->narrows(votes_); }
    // After agree(), collective: ranks join or leave. PEER_LOST: recover next.
    enum class Resized { no, yes, left };
    Status resize(Resized &out);

    // After a loss, or in an extension that has not joined: call Resizer::recover(), and then this.
    void go_on_from(const live::Position &position, const char *lost);
    [[nodiscard]] const char *what_is_lost() const;
    [[nodiscard]] live::Position position() const;
    // At the end of training: true if this rank is of those that end together.
    bool finish();

    void add_to(records::Telemetry &out) const;
    // Hash in which extensions must agree: registered buffers, batch rule, order of samples, and
    // `other`.
    [[nodiscard]] uint64_t layout_hash(const std::vector<checkpoint::Buffer> &buffers,
                                       const std::string &other) const;

  private:
    const Settings &settings_;
    Group &group_;
    Job &job_;
    live::Resizer *resizer_ = nullptr;
    SignalCounter sigterm_;  // an extension's: preemption, or its user's scancel
    std::vector<live::Vote> votes_;
    bool held_ = false;
};

}  // namespace ringrt::job

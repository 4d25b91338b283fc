// SPDX-License-Identifier: BSD-3-Clause
// Resizing in place (doc/live.md) from the controller's side. A training consists of its base job
// and its extensions, which are separate Slurm jobs. All state of an extension is in its Slurm
// record. Each pass derives its stage anew. Pure.
//
// clang-format off
//
//   (submitted) ─► pending ──(Slurm starts it)──► joining ──(the ranks count it)──► joined
//                     │ pending too long             │ does not join,                 │ its GPUs are to be returned
//                     │ or a job needs its GPUs      │ or a job needs its GPUs        │
//                     ▼                              ▼                                ▼
//                 cancelled ◄────────────────────────┴────────(does not leave)───── leaving ──► ended
//
//   Transitions that the controller does not cause:
//     joined ──► joining                             an extension below it was lost: it must join again
//     pending, joining, joined, leaving ──► stray    its base ended, is pending or restarted: cancelled
//     pending, joining, joined, leaving ──► ended    by its owner, a lost node, its own end: the training shrinks
//
// clang-format on
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/records/extension.h"

namespace ringrt::controller {

struct MalleableJob;

enum class ExtensionStage : uint8_t {
    pending,  // Slurm has not started it
    joining,  // running, and the training does not count it among its ranks yet
    joined,
    leaving,  // signalled to leave
    stray,    // its base does not run, or runs in another run than the one it was submitted for
    ended,    // or about to end
};

inline constexpr int kExtensionStages = 6;

[[nodiscard]] std::string_view to_string(ExtensionStage stage);

// `ranks_with`: the training's ranks with this extension. `ranks`: the base's last report.
[[nodiscard]] ExtensionStage extension_stage(const JobRecord &record, bool base_runs,
                                             int ranks_with, int ranks);

// Seconds since it entered its stage, and since its last signal.
struct ExtensionAges {
    double in_stage_s = 0, signalled_s = 0;
};

enum class ExtensionStep : uint8_t { nothing, wait, signal_again, cancel };

[[nodiscard]] ExtensionStep extension_step(ExtensionStage stage, const ExtensionAges &ages,
                                           double grace_s, const Options &options);

// One extension in one pass.
struct Extension {
    const JobRecord *record = nullptr;
    ExtensionStage stage = ExtensionStage::ended;
};

// The extensions of all trainings. They are removed from each observation, so the rest of the
// controller sees a training as one job that holds the GPUs of all its running parts.
class Extensions {
  public:
    // Call in each pass, also if the observation is that of the previous pass.
    void extract_from(Observation &observation);
    // Extensions of a running base, by level, without stray and ended ones.
    [[nodiscard]] std::vector<Extension> of(const JobRecord &base) const;
    // Extensions whose base no longer runs, and suspended ones, for whose ranks a running base
    // waits.
    [[nodiscard]] std::vector<const JobRecord *> strays(const Observation &observation) const;

  private:
    std::vector<JobRecord> all_;
    uint64_t version_ = 0;
};

// GPUs of the base alone, of the pending extension (0: none), and of extensions or nodes that
// leave.
[[nodiscard]] int base_gpus(const MalleableJob &job);
[[nodiscard]] int pending_gpus(const MalleableJob &job);
[[nodiscard]] int leaving_gpus(const MalleableJob &job);
[[nodiscard]] inline bool is_to_join(const Extension &extension) {
    return extension.stage == ExtensionStage::pending || extension.stage == ExtensionStage::joining;
}
// Whether an extension joins or leaves.
[[nodiscard]] bool is_changing(const MalleableJob &job);
// Whether the job may grow by extensions.
[[nodiscard]] bool is_live(const JobRecord &base, const records::Intent &intent,
                           const Options &options);

}  // namespace ringrt::controller

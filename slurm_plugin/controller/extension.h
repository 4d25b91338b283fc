// SPDX-License-Identifier: BSD-3-Clause
// Resizing in place (doc/live.md), as the controller sees it: a training is its base job and its
// extensions, which are Slurm's jobs of their own. What is known of an extension is in its record
// in Slurm; its stage is derived anew in each pass. Pure.
//
// clang-format off
//
//   (submitted) ─► pending ──(Slurm starts it)──► joining ──(the ranks count it)──► joined
//                     │ waits too long               │ does not join                  │ its GPUs are to be given back
//                     ▼                              ▼                                ▼
//                 cancelled ◄────────────────────────┴────────(does not leave)───── leaving ──► ended
//
//   And what others do:
//     joined ──► joining                             an extension below it was lost: it asks to join again
//     pending, joining, joined, leaving ──► stray    its base ended, waits, or runs anew: cancelled
//     pending, joining, joined, leaving ──► ended    its owner, a lost node, its own end: the training is smaller
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
    joining,  // it runs, and the training does not count it among its ranks
    joined,
    leaving,  // asked to leave
    stray,    // its base does not run, or not in the run that it was submitted for
    ended,    // or about to
};

inline constexpr int kExtensionStages = 6;

[[nodiscard]] std::string_view to_string(ExtensionStage stage);

// `ranks_with`: of the training, once this one has joined. `ranks`: as the base told last.
[[nodiscard]] ExtensionStage extension_stage(const JobRecord &record, bool base_runs,
                                             int ranks_with, int ranks);

// Seconds since it came into its stage, and since it was last signalled.
struct ExtensionAges {
    double in_stage_s = 0, signalled_s = 0;
};

enum class ExtensionStep : uint8_t { nothing, wait, signal_again, cancel };

[[nodiscard]] ExtensionStep extension_step(ExtensionStage stage, const ExtensionAges &ages,
                                           double grace_s, const Options &options);

// What the controller keeps of a training's extensions from pass to pass. May be lost.
struct Extension {
    const JobRecord *record = nullptr;
    ExtensionStage stage = ExtensionStage::ended;
};

// The extensions of all trainings: taken out of each observation, so that to everybody else a
// training is one job, with the GPUs of all of its running parts.
class Extensions {
  public:
    // In each pass, whether the observation is a new one or the one of the pass before.
    void take_from(Observation &observation);
    // Of a base that runs: by level, the stray and the ended ones left out.
    [[nodiscard]] std::vector<Extension> of(const JobRecord &base) const;
    // Whose base does not run any more.
    [[nodiscard]] std::vector<const JobRecord *> strays(const Observation &observation) const;

  private:
    std::vector<JobRecord> all_;
    uint64_t version_ = 0;
};

// GPUs of the base alone, and those of an extension that Slurm has yet to start (0: none).
[[nodiscard]] int base_gpus(const MalleableJob &job);
[[nodiscard]] int pending_gpus(const MalleableJob &job);
[[nodiscard]] int leaving_gpus(const MalleableJob &job);
// One of them comes or goes.
[[nodiscard]] bool is_changing(const MalleableJob &job);
// May it grow by extensions?
[[nodiscard]] bool is_live(const JobRecord &base, const records::Intent &intent,
                           const Options &options);

}  // namespace ringrt::controller

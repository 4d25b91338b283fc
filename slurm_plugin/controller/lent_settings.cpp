// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/lent_settings.h"

#include <optional>
#include <utility>

namespace ringrt::controller {

using records::RunMails;

Settings suppress_mails(const JobRecord &record, records::Intent &intent) {
    if (record.run_mails == 0) return {};
    intent.own_mails |= record.run_mails;
    return {.nice = std::nullopt, .run_mails = RunMails{0}, .no_excluded_nodes = false};
}

Settings restore_settings(const JobRecord &record, records::Intent &intent) {
    Settings settings{.nice = std::exchange(intent.own_nice, std::nullopt),
                      .run_mails = std::nullopt,
                      .no_excluded_nodes = false};
    if (const RunMails own = std::exchange(intent.own_mails, RunMails{0}); own != 0)
        settings.run_mails = static_cast<RunMails>(own | record.run_mails);
    if (record.phase == JobPhase::pending) {
        intent.exclusions_checksum = 0;
        settings.no_excluded_nodes = !record.lent_exclusions.empty();
    }
    return settings;
}

}  // namespace ringrt::controller

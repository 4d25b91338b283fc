// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/settings.h"

#include <utility>

namespace ringrt::controller {

void keep_back_mails(const JobRecord &record, records::Intent &intent, Settings &settings) {
    if (record.run_mails == 0) return;
    intent.own_mails |= record.run_mails;
    settings.run_mails = RunMails{0};
}

Settings give_back_mails(const JobRecord &record, records::Intent &intent) {
    if (intent.own_mails == 0) return {};
    const RunMails own = std::exchange(intent.own_mails, RunMails{0});
    return {.nice = std::nullopt, .run_mails = static_cast<RunMails>(own | record.run_mails)};
}

Settings give_back(const JobRecord &record, records::Intent &intent) {
    Settings settings = give_back_mails(record, intent);
    settings.nice = std::exchange(intent.own_nice, std::nullopt);
    return settings;
}

}  // namespace ringrt::controller

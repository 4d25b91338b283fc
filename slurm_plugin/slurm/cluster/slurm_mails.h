// SPDX-License-Identifier: GPL-2.0-or-later
// The mails about each run in a job's mail_type.
#pragma once

#include <slurm/slurm.h>

#include <cstdint>

#include "slurm_plugin/records/intent.h"

namespace ringrt::slurm {

[[nodiscard]] inline records::RunMails run_mails_of(uint16_t mail_type) {
    records::RunMails mails = 0;
    if ((mail_type & MAIL_JOB_BEGIN) != 0) mails |= records::kMailBegin;
    if ((mail_type & MAIL_JOB_REQUEUE) != 0) mails |= records::kMailRequeue;
    return mails;
}

// The same mail_type with `mails` as its mails about each run.
[[nodiscard]] inline uint16_t with_run_mails(uint16_t mail_type, records::RunMails mails) {
    unsigned type = mail_type & ~unsigned{MAIL_JOB_BEGIN | MAIL_JOB_REQUEUE};
    if ((mails & records::kMailBegin) != 0) type |= MAIL_JOB_BEGIN;
    if ((mails & records::kMailRequeue) != 0) type |= MAIL_JOB_REQUEUE;
    return static_cast<uint16_t>(type);
}

}  // namespace ringrt::slurm

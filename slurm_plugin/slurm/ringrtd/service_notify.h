// SPDX-License-Identifier: GPL-2.0-or-later
// What systemd is told (sd_notify(3)): a datagram to the socket that NOTIFY_SOCKET names. Without
// that, nothing.
#pragma once

#include <string>

namespace ringrt::slurm {

void notify_service(const std::string &state);  // READY=1, STATUS=..., WATCHDOG=1, STOPPING=1
// How often the service must say WATCHDOG=1, in seconds; 0: not at all.
[[nodiscard]] double watchdog_s();

}  // namespace ringrt::slurm

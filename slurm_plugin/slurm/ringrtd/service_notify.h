// SPDX-License-Identifier: GPL-2.0-or-later
// Notifies systemd (sd_notify(3)) by a datagram to the socket in NOTIFY_SOCKET. Without that
// variable, does nothing.
#pragma once

#include <string>

namespace ringrt::slurm {

void notify_service(const std::string &state);  // READY=1, STATUS=..., WATCHDOG=1, STOPPING=1
// How often the service must send WATCHDOG=1, in seconds; 0: never.
[[nodiscard]] double watchdog_s();

}  // namespace ringrt::slurm

// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/common_settings.h"

#include <cstdlib>

#include "libringrt/gpu/device_collectives.h"
#include "libringrt/schedule/choice.h"

namespace ringrt {

uint32_t common_settings() {
    Choice choice;  // a wrong value has ended the start
    (void)parse_choice(getenv("RINGRT_ORDER"), getenv("RINGRT_ALGORITHM"), &choice);
    return uint32_t(choice.code()) << 8 | uint32_t(DeviceCollectives::requested_route());
}

}  // namespace ringrt

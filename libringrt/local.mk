# SPDX-License-Identifier: BSD-3-Clause

# Transports, collectives and start-up: one convenience library that libringrt and the tests link.
include libringrt/collective.mk

# Gradient grouping
include libringrt/grouping.mk

# Checkpoints, telemetry, the step boundary, and the library itself.
include libringrt/runtime.mk

# The exchange of gradients
include libringrt/exchange.mk

# SPDX-License-Identifier: BSD-3-Clause
# Shared end of the tools' command lines
EXTRA_DIST += tools/usage.h
include tools/ringrt-check.mk
include tools/ringstat.mk
include tools/ringsim.mk
include tools/ringplan.mk
include tools/ringbench.mk

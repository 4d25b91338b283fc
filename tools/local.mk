# SPDX-License-Identifier: BSD-3-Clause
# Shared end of the tools' command lines
EXTRA_DIST += tools/usage.h
include tools/ringrt-check/local.mk
include tools/ringstat/local.mk
include tools/ringsim/local.mk
include tools/ringfit/local.mk
include tools/ringplan/local.mk
include tools/ringbench/local.mk

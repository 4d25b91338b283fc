# SPDX-License-Identifier: BSD-3-Clause
include tools/ringstat.mk
include tools/ringsim.mk
include tools/ringplan.mk
include tools/ringbench.mk

# SPDX-License-Identifier: BSD-3-Clause
# Between network namespaces with shaped links; needs root, and minutes: run it by hand, or by
# "make check-netns".
EXTRA_DIST += tests/netns/run tests/netns/agent
check-netns: all
	$(srcdir)/tests/netns/run 2
	$(srcdir)/tests/netns/run 3
	$(srcdir)/tests/netns/run 4
.PHONY: check-netns

# Predicted against measured times of all rules over shaped links, and a link that changes while training;
# needs root, and a quarter of an hour: run it by hand, or by "make check-netns-train".
EXTRA_DIST += tests/netns/train tests/netns/train_table.py
check-netns-train: tools/ringbench/ringbench
	$(srcdir)/tests/netns/train
.PHONY: check-netns-train

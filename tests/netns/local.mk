# SPDX-License-Identifier: BSD-3-Clause
# Between network namespaces with shaped links. Needs root and takes minutes: run it by hand, or by "make
# check-netns".
EXTRA_DIST += tests/netns/run tests/netns/agent
check-netns: all
	$(srcdir)/tests/netns/run 2
	$(srcdir)/tests/netns/run 3
	$(srcdir)/tests/netns/run 4
.PHONY: check-netns

# Predicted and measured times of all rules over shaped links, and over a link that changes during training.
# Needs root and takes a quarter of an hour: run it by hand, or by "make check-netns-train".
EXTRA_DIST += tests/netns/train tests/netns/train_table.py
check-netns-train: tools/ringbench/ringbench
	$(srcdir)/tests/netns/train
.PHONY: check-netns-train

# SPDX-License-Identifier: BSD-3-Clause
TESTS += tests/check-includes tests/check-format tests/check-names tests/check-paths tests/check-size
EXTRA_DIST += tests/check-includes tests/check-format tests/check-names tests/check-paths tests/check-size .clang-format

# The public header and the man pages
TESTS += tests/check-examples tests/check-header tests/check-symbols tests/check-man tests/check-environment tests/check-messages
EXTRA_DIST += tests/check-examples tests/check-header tests/check-symbols tests/check-man tests/check-environment tests/check-messages \
	tests/unit/check_matrix.py tests/unit/check_messages.py \
	tests/with-tap

# Options, man pages and completion
TESTS += tests/check-options
EXTRA_DIST += tests/check-options

# The fault tests' watcher
TESTS += tests/check-invariants
EXTRA_DIST += tests/check-invariants tests/unit/check_invariants.py

# The demo's accounting, and the example program over a sequence of sizes
TESTS += tests/check-demo tests/multiproc/digits-sizes tests/netns/faults
EXTRA_DIST += tests/check-demo tests/unit/test_demo.py tests/multiproc/digits-sizes tests/netns/faults

# On a real Slurm cluster: contrib/test runs these separately
EXTRA_DIST += tests/cluster

# Against other versions' headers, run by hand
EXTRA_DIST += tests/slurm-headers

# Every parser against hostile input
include tests/fuzz/fuzz.mk

if HAVE_CHECK
include tests/unit/records/local.mk
include tests/unit/model/local.mk
include tests/unit/policy/local.mk
include tests/unit/controller/local.mk
include tests/unit/slurm/local.mk
include tests/unit/channel/local.mk
include tests/unit/sim/local.mk
include tests/unit/tools/local.mk
include tests/unit/gpu/local.mk
include tests/unit/reduce/local.mk
include tests/unit/schedule/local.mk
include tests/unit/transport/local.mk
include tests/unit/checkpoint/local.mk
include tests/unit/job/local.mk
include tests/unit/live/local.mk
include tests/unit/api/local.mk
include tests/unit/example/local.mk
include tests/unit/bucketing/local.mk
include tests/multiproc/local.mk
include tests/gpu/local.mk
include tests/netns/local.mk
endif

# ringplan's command line, and its targets on the models' profiles
TESTS += tests/ringplan-cli tests/ringplan-paper tests/grouping-targets
EXTRA_DIST += tests/ringplan-cli tests/ringplan-paper tests/ringplan-paper.txt tests/grouping-targets tests/speed/train-shaped
CLEANFILES += grouping-grade.json grouping-resnet50.json grouping-vgg16.json

# On a real Slurm cluster: as root, a few minutes; TAP
EXTRA_DIST += doc/testing.md doc/contributing.md
cluster_tests = tests/cluster/run tests/cluster/gaps tests/cluster/lib.sh tests/cluster/site.sh tests/cluster/below_script.sh tests/cluster/torch.sh tests/cluster/live.sh tests/cluster/live_torch.sh tests/cluster/pause.sh tests/cluster/clock.sh tests/cluster/plain_job.sh tests/cluster/cases tests/cluster/limits_random.sh
EXTRA_DIST += $(cluster_tests)
check-cluster: all
	RINGRT_PLUGIN_DIR=$(abs_builddir)/.libs $(srcdir)/tests/cluster/run $(CASES)
# Random actions under real limits: half an hour
check-limits: all
	RINGRT_PLUGIN_DIR=$(abs_builddir)/.libs $(srcdir)/tests/cluster/run $(srcdir)/tests/cluster/limits_random.sh

include tests/packages.mk

# The fault matrix
include tests/faults/faults.mk

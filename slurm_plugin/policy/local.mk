# SPDX-License-Identifier: BSD-3-Clause
# Policies: pure. Only the simulator uses the baselines.
include slurm_plugin/policy/policies.mk
policy_list = -D'RINGRT_POLICIES(X)=$(foreach file,$(notdir $(policies)),X($(file)))'
EXTRA_DIST += slurm_plugin/policy/policies.mk

noinst_LTLIBRARIES += libpolicy.la libbaselines.la
libpolicy_la_CPPFLAGS = $(AM_CPPFLAGS) $(policy_list)
libpolicy_la_LIBADD = libmodel.la
libpolicy_la_SOURCES = $(policies:=.cpp) \
	slurm_plugin/policy/doubling.h \
	slurm_plugin/policy/pausing.cpp slurm_plugin/policy/pausing.h \
	slurm_plugin/policy/policy.h slurm_plugin/policy/policy_lookup.cpp \
	slurm_plugin/policy/reason.cpp slurm_plugin/policy/reason.h \
	slurm_plugin/policy/value.cpp slurm_plugin/policy/value.h \
	slurm_plugin/policy/engine/allotment.cpp slurm_plugin/policy/engine/allotment.h \
	slurm_plugin/policy/engine/fast_doubling.cpp slurm_plugin/policy/engine/fast_doubling.h \
	slurm_plugin/policy/engine/fitting.cpp slurm_plugin/policy/engine/fitting.h \
	slurm_plugin/policy/engine/greedy.cpp slurm_plugin/policy/engine/greedy.h \
	slurm_plugin/policy/engine/improve.cpp slurm_plugin/policy/engine/improve.h \
	slurm_plugin/policy/engine/knapsack.cpp slurm_plugin/policy/engine/knapsack.h \
	slurm_plugin/policy/engine/overcommit.cpp slurm_plugin/policy/engine/overcommit.h \
	slurm_plugin/policy/engine/packing.cpp slurm_plugin/policy/engine/packing.h \
	slurm_plugin/policy/engine/proposal.cpp slurm_plugin/policy/engine/proposal.h \
	slurm_plugin/policy/engine/selection.cpp slurm_plugin/policy/engine/selection.h \
	slurm_plugin/policy/engine/size_table.cpp slurm_plugin/policy/engine/size_table.h

libbaselines_la_SOURCES = \
	slurm_plugin/policy/baselines/afs.cpp \
	slurm_plugin/policy/baselines/baselines.cpp slurm_plugin/policy/baselines/baselines.h \
	slurm_plugin/policy/baselines/fifo.cpp slurm_plugin/policy/baselines/optimus.cpp \
	slurm_plugin/policy/baselines/srtf.cpp slurm_plugin/policy/baselines/tiresias.cpp

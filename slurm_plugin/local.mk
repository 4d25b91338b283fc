# SPDX-License-Identifier: BSD-3-Clause

# ---- records, policy: pure ------------------------------------------------------------------------
noinst_LTLIBRARIES += librecords.la libpolicy.la
librecords_la_SOURCES = \
	slurm_plugin/records/fields.cpp slurm_plugin/records/fields.h \
	slurm_plugin/records/flag.cpp slurm_plugin/records/flag.h \
	slurm_plugin/records/intent.cpp slurm_plugin/records/intent.h \
	slurm_plugin/records/telemetry.cpp slurm_plugin/records/telemetry.h

libpolicy_la_SOURCES = \
	slurm_plugin/policy/doubling.cpp slurm_plugin/policy/doubling.h \
	slurm_plugin/policy/baselines.cpp slurm_plugin/policy/baselines.h \
	slurm_plugin/policy/afs.cpp slurm_plugin/policy/fifo.cpp slurm_plugin/policy/optimus.cpp \
	slurm_plugin/policy/srtf.cpp slurm_plugin/policy/tiresias.cpp \
	slurm_plugin/policy/exchange.cpp slurm_plugin/policy/exchange.h \
	slurm_plugin/policy/explain.cpp slurm_plugin/policy/explain.h \
	slurm_plugin/policy/fitting.cpp slurm_plugin/policy/fitting.h \
	slurm_plugin/policy/gain.cpp slurm_plugin/policy/gain.h \
	slurm_plugin/policy/growth.cpp slurm_plugin/policy/growth.h \
	slurm_plugin/policy/ladder.cpp slurm_plugin/policy/ladder.h \
	slurm_plugin/policy/optimum.cpp slurm_plugin/policy/optimum.h \
	slurm_plugin/policy/placement.cpp slurm_plugin/policy/placement.h \
	slurm_plugin/policy/policy.h \
	slurm_plugin/policy/proposal.cpp slurm_plugin/policy/proposal.h \
	slurm_plugin/policy/registry.cpp \
	slurm_plugin/policy/squeeze.cpp slurm_plugin/policy/squeeze.h
libpolicy_la_LIBADD = libmodel.la

# ---- controller: the resize loop ------------------------------------------------------------------
noinst_LTLIBRARIES += libcontroller.la
libcontroller_la_SOURCES = \
	slurm_plugin/controller/breaker.cpp slurm_plugin/controller/breaker.h \
	slurm_plugin/controller/capacity.cpp slurm_plugin/controller/capacity.h \
	slurm_plugin/controller/cluster.h \
	slurm_plugin/controller/controller.cpp slurm_plugin/controller/controller.h \
	slurm_plugin/controller/decision.cpp slurm_plugin/controller/decision.h \
	slurm_plugin/controller/event.cpp slurm_plugin/controller/event.h \
	slurm_plugin/controller/explain.cpp \
	slurm_plugin/controller/job_machine.cpp slurm_plugin/controller/job_machine.h \
	slurm_plugin/controller/job_view.cpp slurm_plugin/controller/job_view.h \
	slurm_plugin/controller/nearest.cpp slurm_plugin/controller/nearest.h \
	slurm_plugin/controller/options.cpp slurm_plugin/controller/options.h \
	slurm_plugin/controller/speed.cpp slurm_plugin/controller/speed.h \
	slurm_plugin/controller/statistics.h
libcontroller_la_LIBADD = librecords.la libpolicy.la

# ---- slurm: the plugins
include slurm_plugin/slurm/slurm.mk

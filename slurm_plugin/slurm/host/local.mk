# SPDX-License-Identifier: BSD-3-Clause

# Separate, so that the tests can link it
noinst_LTLIBRARIES += libyamloptions.la
libyamloptions_la_SOURCES = \
	slurm_plugin/slurm/base/option_table.h \
	slurm_plugin/slurm/host/accepted_options.cpp slurm_plugin/slurm/host/accepted_options.h \
	slurm_plugin/slurm/host/safe_file.cpp slurm_plugin/slurm/host/safe_file.h \
	slurm_plugin/slurm/host/yaml_options.cpp slurm_plugin/slurm/host/yaml_options.h
libyamloptions_la_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS)

# Shared by the controller's two hosts. It must use no symbol that only slurmctld has.
noinst_LTLIBRARIES += libhost.la
libhost_la_SOURCES = \
	slurm_plugin/slurm/host/controller_loop.cpp slurm_plugin/slurm/host/controller_loop.h \
	slurm_plugin/slurm/host/controller_thread.cpp slurm_plugin/slurm/host/controller_thread.h \
	slurm_plugin/slurm/host/diag.cpp slurm_plugin/slurm/host/diag.h \
	slurm_plugin/slurm/host/event_log.cpp slurm_plugin/slurm/host/event_log.h \
	slurm_plugin/slurm/host/fenced_cluster.h \
	slurm_plugin/slurm/host/host.h \
	slurm_plugin/slurm/host/journal_file.cpp slurm_plugin/slurm/host/journal_file.h \
	slurm_plugin/slurm/host/known_intents.cpp slurm_plugin/slurm/host/known_intents.h \
	slurm_plugin/slurm/host/metrics.cpp slurm_plugin/slurm/host/metrics.h \
	slurm_plugin/slurm/host/slurm_paths.cpp slurm_plugin/slurm/host/slurm_paths.h
libhost_la_CPPFLAGS = $(slurm_cppflags)

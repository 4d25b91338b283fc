# SPDX-License-Identifier: BSD-3-Clause
# Slurm's plugins. They do not link libslurm: the daemon that loads them has Slurm's symbols.
if HAVE_SLURM

slurm_module_ldflags = -module -avoid-version -shared -export-dynamic
slurm_cppflags = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)

slurmplugin_LTLIBRARIES = malleable.la job_submit_malleable.la

malleable_la_SOURCES = \
	slurm_plugin/slurm/beside_tasks.cpp slurm_plugin/slurm/beside_tasks.h \
	slurm_plugin/slurm/slurm_compat.h \
	slurm_plugin/slurm/spank_calm.cpp \
	slurm_plugin/slurm/spank_channel.cpp \
	slurm_plugin/slurm/spank_contexts.h \
	slurm_plugin/slurm/spank_malleable.cpp \
	slurm_plugin/slurm/spank_step.cpp \
	slurm_plugin/slurm/spank_submit.cpp \
	slurm_plugin/slurm/step_variables.cpp slurm_plugin/slurm/step_variables.h
malleable_la_CPPFLAGS = $(slurm_cppflags)
malleable_la_LDFLAGS = $(slurm_module_ldflags)
malleable_la_LIBADD = libchannel.la librecords.la

job_submit_malleable_la_SOURCES = \
	slurm_plugin/slurm/facts_file.cpp slurm_plugin/slurm/facts_file.h \
	slurm_plugin/slurm/gpu_tres.cpp slurm_plugin/slurm/gpu_tres.h \
	slurm_plugin/slurm/job_submit_malleable.cpp \
	slurm_plugin/slurm/sched_view.h \
	slurm_plugin/slurm/slurm_compat.h \
	slurm_plugin/slurm/start_size.cpp slurm_plugin/slurm/start_size.h \
	slurm_plugin/slurm/submit_check.cpp slurm_plugin/slurm/submit_check.h
job_submit_malleable_la_CPPFLAGS = $(slurm_cppflags)
job_submit_malleable_la_LDFLAGS = $(slurm_module_ldflags)
job_submit_malleable_la_LIBADD = librecords.la

# Also in programs that link libslurm: no symbol that only slurmctld has. A module takes a convenience
# library whole, so none here brings another along: link libcontroller.la beside them.
noinst_LTLIBRARIES += libslurmcluster.la
libslurmcluster_la_SOURCES = \
	slurm_plugin/slurm/api_times.h \
	slurm_plugin/slurm/gpu_tres.cpp slurm_plugin/slurm/gpu_tres.h \
	slurm_plugin/slurm/slurm_cluster.cpp slurm_plugin/slurm/slurm_cluster.h \
	slurm_plugin/slurm/slurm_compat.h \
	slurm_plugin/slurm/shared_limits.cpp slurm_plugin/slurm/shared_limits.h \
	slurm_plugin/slurm/slurm_records.cpp slurm_plugin/slurm/slurm_records.h \
	slurm_plugin/slurm/slurm_runs.cpp
libslurmcluster_la_CPPFLAGS = $(slurm_cppflags)

if HAVE_YAML
slurmplugin_LTLIBRARIES += sched_doubling.la

# Apart, so that the tests link it too
noinst_LTLIBRARIES += libyamloptions.la
libyamloptions_la_SOURCES = \
	slurm_plugin/slurm/accepted_options.cpp slurm_plugin/slurm/accepted_options.h \
	slurm_plugin/slurm/safe_file.cpp slurm_plugin/slurm/safe_file.h \
	slurm_plugin/slurm/yaml_options.cpp slurm_plugin/slurm/yaml_options.h
libyamloptions_la_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS)

# What the controller's two hosts share; no symbol here that only slurmctld has, either.
noinst_LTLIBRARIES += libhost.la
libhost_la_SOURCES = \
	slurm_plugin/slurm/controller_loop.cpp slurm_plugin/slurm/controller_loop.h \
	slurm_plugin/slurm/controller_thread.cpp slurm_plugin/slurm/controller_thread.h \
	slurm_plugin/slurm/diag.cpp slurm_plugin/slurm/diag.h \
	slurm_plugin/slurm/event_log.cpp slurm_plugin/slurm/event_log.h \
	slurm_plugin/slurm/fenced_cluster.h \
	slurm_plugin/slurm/host.h \
	slurm_plugin/slurm/journal_file.cpp slurm_plugin/slurm/journal_file.h \
	slurm_plugin/slurm/metrics.cpp slurm_plugin/slurm/metrics.h \
	slurm_plugin/slurm/slurm_paths.cpp slurm_plugin/slurm/slurm_paths.h
libhost_la_CPPFLAGS = $(slurm_cppflags)

# ---- ringrtd: the same controller as a daemon beside slurmctld
noinst_LTLIBRARIES += libringrtd.la
libringrtd_la_SOURCES = \
	slurm_plugin/slurm/daemon_log.cpp slurm_plugin/slurm/daemon_log.h \
	slurm_plugin/slurm/daemon_options.cpp slurm_plugin/slurm/daemon_options.h \
	slurm_plugin/slurm/facts_file.cpp slurm_plugin/slurm/facts_file.h \
	slurm_plugin/slurm/lease.cpp slurm_plugin/slurm/lease.h \
	slurm_plugin/slurm/lease_file.cpp slurm_plugin/slurm/lease_file.h \
	slurm_plugin/slurm/metrics_server.cpp slurm_plugin/slurm/metrics_server.h \
	slurm_plugin/slurm/sched_view.h \
	slurm_plugin/slurm/service_notify.cpp slurm_plugin/slurm/service_notify.h
libringrtd_la_CPPFLAGS = $(slurm_cppflags)

sbin_PROGRAMS += ringrtd
ringrtd_SOURCES = \
	slurm_plugin/slurm/daemon_thread.cpp slurm_plugin/slurm/daemon_thread.h \
	slurm_plugin/slurm/ringrtd.cpp \
	slurm_plugin/slurm/slurm_library.cpp slurm_plugin/slurm/slurm_library.h
ringrtd_CPPFLAGS = $(slurm_cppflags)
ringrtd_LDADD = libringrtd.la libhost.la libslurmcluster.la libyamloptions.la libcontroller.la \
	$(YAML_LIBS) $(SLURM_LIBS)

sched_doubling_la_SOURCES = \
	slurm_plugin/slurm/backfill_host.cpp slurm_plugin/slurm/backfill_host.h \
	slurm_plugin/slurm/sched_doubling.cpp \
	slurm_plugin/slurm/sched_facts.cpp slurm_plugin/slurm/sched_facts.h \
	slurm_plugin/slurm/sched_view.h
sched_doubling_la_CPPFLAGS = $(slurm_cppflags) -DRINGRT_SLURM_PLUGIN_DIR='"$(slurmplugindir)"'
sched_doubling_la_LDFLAGS = $(slurm_module_ldflags)
sched_doubling_la_LIBADD = libhost.la libslurmcluster.la libyamloptions.la libcontroller.la $(YAML_LIBS)
endif HAVE_YAML

endif HAVE_SLURM

EXTRA_DIST += contrib/packaging/ringrtd.service contrib/packaging/ringrtd.sysconfig doc/hosts.md

EXTRA_DIST += doc/leaving.md
dist_man_MANS += man/malleable.1 man/malleable.yaml.5 man/sched_doubling.8 man/ringrtd.8

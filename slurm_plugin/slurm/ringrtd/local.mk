# SPDX-License-Identifier: BSD-3-Clause

# ringrtd: the same controller as a daemon outside slurmctld
noinst_LTLIBRARIES += libringrtd.la
libringrtd_la_SOURCES = \
	slurm_plugin/slurm/ringrtd/daemon_log.cpp slurm_plugin/slurm/ringrtd/daemon_log.h \
	slurm_plugin/slurm/ringrtd/daemon_options.cpp slurm_plugin/slurm/ringrtd/daemon_options.h \
	slurm_plugin/slurm/host/facts_file.cpp slurm_plugin/slurm/host/facts_file.h \
	slurm_plugin/slurm/ringrtd/lease.cpp slurm_plugin/slurm/ringrtd/lease.h \
	slurm_plugin/slurm/ringrtd/lease_file.cpp slurm_plugin/slurm/ringrtd/lease_file.h \
	slurm_plugin/slurm/ringrtd/metrics_server.cpp slurm_plugin/slurm/ringrtd/metrics_server.h \
	slurm_plugin/slurm/host/sched_view.h \
	slurm_plugin/slurm/ringrtd/service_notify.cpp slurm_plugin/slurm/ringrtd/service_notify.h
libringrtd_la_CPPFLAGS = $(slurm_cppflags)

sbin_PROGRAMS += ringrtd
ringrtd_SOURCES = \
	slurm_plugin/slurm/ringrtd/daemon_thread.cpp slurm_plugin/slurm/ringrtd/daemon_thread.h \
	slurm_plugin/slurm/ringrtd/ringrtd.cpp \
	slurm_plugin/slurm/cluster/slurm_library.cpp slurm_plugin/slurm/cluster/slurm_library.h
ringrtd_CPPFLAGS = $(slurm_cppflags)
ringrtd_LDADD = libringrtd.la libhost.la libslurmcluster.la libyamloptions.la libcontroller.la \
	$(YAML_LIBS) $(SLURM_LIBS)

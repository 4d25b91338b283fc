# SPDX-License-Identifier: BSD-3-Clause

slurmplugin_LTLIBRARIES += sched_doubling.la

sched_doubling_la_SOURCES = \
	slurm_plugin/slurm/sched/backfill_host.cpp slurm_plugin/slurm/sched/backfill_host.h \
	slurm_plugin/slurm/sched/sched_doubling.cpp \
	slurm_plugin/slurm/sched/sched_facts.cpp slurm_plugin/slurm/sched/sched_facts.h \
	slurm_plugin/slurm/host/sched_view.h
sched_doubling_la_CPPFLAGS = $(slurm_cppflags) -DRINGRT_SLURM_PLUGIN_DIR='"$(slurmplugindir)"'
sched_doubling_la_LDFLAGS = $(slurm_module_ldflags)
sched_doubling_la_LIBADD = libhost.la libslurmcluster.la libyamloptions.la libcontroller.la $(YAML_LIBS)

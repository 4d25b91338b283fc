# SPDX-License-Identifier: BSD-3-Clause
# ringstat: its pure parts are a convenience library, which the unit test links as well.
EXTRA_DIST += slurm_plugin/slurm/cluster/job_listing.h
if HAVE_TOOL_HEADERS
noinst_LTLIBRARIES += libringstat.la
libringstat_la_SOURCES = \
	tools/ringstat/accounting.cpp tools/ringstat/accounting.h \
	tools/ringstat/chart.cpp tools/ringstat/chart.h \
	tools/ringstat/chart_svg.cpp tools/ringstat/chart_svg.h \
	tools/ringstat/columns.cpp tools/ringstat/columns.h \
	tools/ringstat/diag.cpp tools/ringstat/diag.h \
	tools/ringstat/history.cpp tools/ringstat/history.h \
	tools/ringstat/job_name.cpp tools/ringstat/job_name.h \
	tools/ringstat/job_view.cpp tools/ringstat/job_view.h \
	tools/ringstat/options.cpp tools/ringstat/options.h \
	tools/ringstat/published.cpp tools/ringstat/published.h \
	tools/ringstat/report.cpp tools/ringstat/report.h \
	tools/ringstat/screen.cpp tools/ringstat/screen.h \
	tools/ringstat/summary.cpp tools/ringstat/summary.h \
	tools/ringstat/text.cpp tools/ringstat/text.h \
	tools/ringstat/timeline.cpp tools/ringstat/timeline.h \
	tools/ringstat/when.cpp tools/ringstat/when.h
libringstat_la_LIBADD = libcontroller.la

if HAVE_SLURM
if HAVE_YAML
bin_PROGRAMS += ringstat
dist_man_MANS += man/ringstat.1
ringstat_SOURCES = \
	tools/ringstat/acct.cpp tools/ringstat/acct.h \
	tools/ringstat/config_check.cpp tools/ringstat/config_check.h \
	tools/ringstat/detach.cpp tools/ringstat/detach.h \
	slurm_plugin/slurm/host/administrator.cpp slurm_plugin/slurm/host/administrator.h \
	tools/ringstat/list.cpp tools/ringstat/list.h tools/ringstat/output.h \
	tools/ringstat/main.cpp tools/ringstat/top.cpp \
	tools/ringstat/plugin_view.cpp tools/ringstat/plugin_view.h \
	slurm_plugin/slurm/cluster/job_listing.cpp \
	slurm_plugin/slurm/cluster/slurm_library.cpp slurm_plugin/slurm/cluster/slurm_library.h \
	slurm_plugin/slurm/host/slurm_paths.cpp slurm_plugin/slurm/host/slurm_paths.h
ringstat_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
ringstat_LDADD = libringstat.la libslurmcluster.la libyamloptions.la libcontroller.la $(YAML_LIBS) $(SLURM_LIBS)
endif
endif
endif

# SPDX-License-Identifier: BSD-3-Clause
# ringstat: what is pure in a convenience library, which the unit test links too.
EXTRA_DIST += slurm_plugin/slurm/job_listing.h
if HAVE_TOOL_HEADERS
noinst_LTLIBRARIES += libringstat.la
libringstat_la_SOURCES = \
	tools/ringstat/columns.cpp tools/ringstat/columns.h \
	tools/ringstat/history.cpp tools/ringstat/history.h \
	tools/ringstat/job_view.cpp tools/ringstat/job_view.h \
	tools/ringstat/options.cpp tools/ringstat/options.h \
	tools/ringstat/report.cpp tools/ringstat/report.h \
	tools/ringstat/text.cpp tools/ringstat/text.h
libringstat_la_LIBADD = librecords.la

if HAVE_SLURM
bin_PROGRAMS += ringstat
dist_man_MANS += man/ringstat.1
ringstat_SOURCES = tools/ringstat/main.cpp slurm_plugin/slurm/job_listing.cpp
ringstat_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
ringstat_LDADD = libringstat.la $(SLURM_LIBS)
endif
endif

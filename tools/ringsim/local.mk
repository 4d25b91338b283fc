# SPDX-License-Identifier: BSD-3-Clause
# ringsim: the simulator (sim/) on the command line. Its parts are a library for the tests.
if HAVE_TOOL_HEADERS
noinst_LTLIBRARIES += libringsim.la
libringsim_la_SOURCES = \
	tools/ringsim/chart.cpp tools/ringsim/command_line.cpp tools/ringsim/commands.h tools/ringsim/format.h \
	tools/ringsim/compare.cpp tools/ringsim/page.cpp tools/ringsim/paper.cpp tools/ringsim/paper.h \
	tools/ringsim/paper_models.cpp tools/ringsim/plot.cpp tools/ringsim/plot.h \
	tools/ringsim/report.cpp tools/ringsim/report.h tools/ringsim/scale.cpp \
	tools/ringsim/verdict.cpp tools/ringsim/verdict.h
libringsim_la_CPPFLAGS = $(AM_CPPFLAGS)
libringsim_la_LIBADD = libsim.la
if HAVE_YAML
libringsim_la_SOURCES += tools/ringsim/run_scenario.cpp
libringsim_la_CPPFLAGS += -DRINGSIM_HAVE_YAML
else
EXTRA_DIST += tools/ringsim/run_scenario.cpp
endif

bin_PROGRAMS += ringsim
ringsim_SOURCES = tools/ringsim/main.cpp
ringsim_LDADD = libringsim.la
dist_man_MANS += man/ringsim.1
EXTRA_DIST += doc/policies.md
endif

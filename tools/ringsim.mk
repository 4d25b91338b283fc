# SPDX-License-Identifier: BSD-3-Clause
# ringsim: the simulator. Its parts are a library, so that the tests link the very same objects.
if HAVE_TOOL_HEADERS
noinst_LTLIBRARIES += libringsim.la
libringsim_la_SOURCES = \
	tools/ringsim/batch_choice.h tools/ringsim/chart.cpp \
	tools/ringsim/command_line.cpp tools/ringsim/commands.h tools/ringsim/compare.cpp \
	tools/ringsim/contender.cpp tools/ringsim/contender.h \
	tools/ringsim/csv.cpp tools/ringsim/csv.h \
	tools/ringsim/engine.cpp tools/ringsim/engine.h \
	tools/ringsim/fairness.cpp tools/ringsim/learned.cpp tools/ringsim/oracle.cpp \
	tools/ringsim/paper.cpp \
	tools/ringsim/placer.cpp tools/ringsim/placer.h \
	tools/ringsim/pollux_profile.cpp tools/ringsim/profile.cpp tools/ringsim/profile.h \
	tools/ringsim/read_elasticflow.cpp tools/ringsim/read_history.cpp \
	tools/ringsim/read_pollux.cpp tools/ringsim/read_workload.cpp \
	tools/ringsim/report.cpp tools/ringsim/report.h \
	tools/ringsim/processor_time.h tools/ringsim/scale.cpp \
	tools/ringsim/workload.h
libringsim_la_CPPFLAGS = $(AM_CPPFLAGS)
libringsim_la_LIBADD = libcontroller.la
ringsim_scenario = \
	tools/ringsim/run_scenario.cpp \
	tools/ringsim/scenario.cpp tools/ringsim/scenario.h \
	tools/ringsim/sim_cluster.cpp tools/ringsim/sim_cluster.h \
	tools/ringsim/yaml_tree.cpp tools/ringsim/yaml_tree.h
if HAVE_YAML
libringsim_la_SOURCES += $(ringsim_scenario)
libringsim_la_CPPFLAGS += $(YAML_CFLAGS) -DRINGSIM_HAVE_YAML
libringsim_la_LIBADD += $(YAML_LIBS)
else
EXTRA_DIST += $(ringsim_scenario)
endif

bin_PROGRAMS += ringsim
ringsim_SOURCES = tools/ringsim/main.cpp
ringsim_LDADD = libringsim.la
dist_man_MANS += man/ringsim.1
EXTRA_DIST += doc/policies.md

# ringfit: samples -> models
noinst_LTLIBRARIES += libringfit.la
libringfit_la_SOURCES = tools/ringfit/fit.cpp tools/ringfit/fit.h
libringfit_la_LIBADD = libringsim.la
bin_PROGRAMS += ringfit
dist_man_MANS += man/ringfit.1
ringfit_SOURCES = tools/ringfit/main.cpp
ringfit_LDADD = libringfit.la
endif

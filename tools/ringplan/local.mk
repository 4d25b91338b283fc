# SPDX-License-Identifier: BSD-3-Clause
# ringplan: its pure parts are a convenience library, which the unit test links as well.
if HAVE_TOOL_HEADERS
noinst_LTLIBRARIES += libringplan.la
libringplan_la_SOURCES = \
	tools/ringplan/chrome_trace.cpp tools/ringplan/chrome_trace.h \
	tools/ringplan/comparison.cpp tools/ringplan/comparison.h \
	tools/ringplan/grade.cpp tools/ringplan/grade.h \
	tools/ringplan/models.cpp tools/ringplan/models.h \
	tools/ringplan/paper.cpp tools/ringplan/paper.h \
	tools/ringplan/report.cpp tools/ringplan/report.h \
	tools/ringplan/svg.cpp tools/ringplan/svg.h \
	tools/ringplan/text.cpp tools/ringplan/text.h \
	tools/ringplan/utilisation.cpp tools/ringplan/utilisation.h
libringplan_la_LIBADD = libbucketing.la

bin_PROGRAMS += ringplan
dist_man_MANS += man/ringplan.1
ringplan_SOURCES = tools/ringplan/main.cpp
ringplan_LDADD = libringplan.la
endif

# SPDX-License-Identifier: BSD-3-Clause
# Models learned from jobs, shared by the scheduler, the library in the job and the tools. Pure.
noinst_LTLIBRARIES += libmodel.la
libmodel_la_CPPFLAGS = $(AM_CPPFLAGS)
libmodel_la_SOURCES = \
	model/even_nodes.h \
	model/ladder.h \
	model/loss.cpp model/loss.h \
	model/nnls.cpp model/nnls.h \
	model/placement.cpp model/placement.h \
	model/speed.cpp model/speed.h

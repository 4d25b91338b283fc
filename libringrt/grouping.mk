# SPDX-License-Identifier: BSD-3-Clause
# Gradient grouping: pure, linked by libringrt, ringplan and the tests.
noinst_LTLIBRARIES += libgrouping.la
libgrouping_la_SOURCES = \
	libringrt/grouping/bound.cpp \
	libringrt/grouping/bound.h \
	libringrt/grouping/buckets.cpp \
	libringrt/grouping/buckets.h \
	libringrt/grouping/id_set.h \
	libringrt/grouping/ddp.cpp \
	libringrt/grouping/dear.cpp \
	libringrt/grouping/fifo.cpp \
	libringrt/grouping/fusion.cpp \
	libringrt/grouping/link_fit.cpp \
	libringrt/grouping/link_fit.h \
	libringrt/grouping/mgwfbp.cpp \
	libringrt/grouping/network.h \
	libringrt/grouping/plan.cpp \
	libringrt/grouping/plan.h \
	libringrt/grouping/predictive.cpp \
	libringrt/grouping/priority.cpp \
	libringrt/grouping/profile.cpp \
	libringrt/grouping/profile.h \
	libringrt/grouping/profile_csv.cpp \
	libringrt/grouping/prophet.cpp \
	libringrt/grouping/rules.cpp \
	libringrt/grouping/rules.h \
	libringrt/grouping/search.cpp \
	libringrt/grouping/search.h \
	libringrt/grouping/slots.cpp \
	libringrt/grouping/slots.h \
	libringrt/grouping/stages.cpp \
	libringrt/grouping/stages.h \
	libringrt/grouping/timeline.cpp \
	libringrt/grouping/timeline.h \
	libringrt/grouping/units.cpp

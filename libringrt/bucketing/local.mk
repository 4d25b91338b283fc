# SPDX-License-Identifier: BSD-3-Clause
# Gradient bucketing: pure; libringrt, ringplan and the tests link it
libbucketing_la_SOURCES += \
	libringrt/bucketing/bound.cpp \
	libringrt/bucketing/bound.h \
	libringrt/bucketing/buckets.cpp \
	libringrt/bucketing/buckets.h \
	libringrt/bucketing/ddp.cpp \
	libringrt/bucketing/dear.cpp \
	libringrt/bucketing/fifo.cpp \
	libringrt/bucketing/fusion.cpp \
	libringrt/bucketing/id_set.h \
	libringrt/bucketing/link_fit.cpp \
	libringrt/bucketing/link_fit.h \
	libringrt/bucketing/mgwfbp.cpp \
	libringrt/bucketing/network.h \
	libringrt/bucketing/partition_queue.h \
	libringrt/bucketing/plan.cpp \
	libringrt/bucketing/plan.h \
	libringrt/bucketing/predictive.cpp \
	libringrt/bucketing/priority.cpp \
	libringrt/bucketing/profile.cpp \
	libringrt/bucketing/profile.h \
	libringrt/bucketing/profile_csv.cpp \
	libringrt/bucketing/prophet.cpp \
	libringrt/bucketing/rules.cpp \
	libringrt/bucketing/rules.h \
	libringrt/bucketing/search.cpp \
	libringrt/bucketing/search.h \
	libringrt/bucketing/slots.cpp \
	libringrt/bucketing/slots.h \
	libringrt/bucketing/stages.cpp \
	libringrt/bucketing/stages.h \
	libringrt/bucketing/timeline.cpp \
	libringrt/bucketing/timeline.h \
	libringrt/bucketing/units.cpp

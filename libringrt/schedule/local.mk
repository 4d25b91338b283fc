# SPDX-License-Identifier: BSD-3-Clause
# What each rank does in a collective, as data, and its executor
libcollective_la_SOURCES += \
	libringrt/schedule/binomial.h \
	libringrt/schedule/by_nodes.cpp \
	libringrt/schedule/by_nodes.h \
	libringrt/schedule/choice.cpp \
	libringrt/schedule/choice.h \
	libringrt/schedule/cost_model.cpp \
	libringrt/schedule/cost_model.h \
	libringrt/schedule/direct.cpp \
	libringrt/schedule/doubling.cpp \
	libringrt/schedule/executor.cpp \
	libringrt/schedule/executor.h \
	libringrt/schedule/halving.cpp \
	libringrt/schedule/shared_places.h \
	libringrt/schedule/ranges.h \
	libringrt/schedule/raw_halving.cpp \
	libringrt/schedule/ring.cpp \
	libringrt/schedule/run.cpp \
	libringrt/schedule/run.h \
	libringrt/schedule/schedule.h \
	libringrt/schedule/tree.cpp

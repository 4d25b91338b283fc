# SPDX-License-Identifier: BSD-3-Clause
# What each rank does in a collective, as data, and what carries it out
libcollective_la_SOURCES += \
	libringrt/schedule/cost_model.cpp \
	libringrt/schedule/cost_model.h \
	libringrt/schedule/direct.cpp \
	libringrt/schedule/executor.cpp \
	libringrt/schedule/executor.h \
	libringrt/schedule/halving_doubling.cpp \
	libringrt/schedule/ranges.h \
	libringrt/schedule/schedule.h

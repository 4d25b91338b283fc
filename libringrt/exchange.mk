# SPDX-License-Identifier: BSD-3-Clause
# The exchange of gradients: follows the plans of grouping over a communicator.
noinst_LTLIBRARIES += libexchange.la
libexchange_la_SOURCES = \
	libringrt/exchange/exchange.cpp libringrt/exchange/exchange.h \
	libringrt/exchange/exchange_step.cpp libringrt/exchange/exchange_plan.cpp \
	libringrt/exchange/clock.h \
	libringrt/exchange/layout.cpp libringrt/exchange/layout.h \
	libringrt/exchange/learned.cpp libringrt/exchange/learned.h \
	libringrt/exchange/learner.cpp libringrt/exchange/learner.h \
	libringrt/exchange/packed_plan.cpp libringrt/exchange/packed_plan.h \
	libringrt/exchange/profile_file.cpp libringrt/exchange/profile_file.h \
	libringrt/exchange/step_profiler.cpp libringrt/exchange/step_profiler.h \
	libringrt/exchange/trace.cpp libringrt/exchange/trace.h
libexchange_la_LIBADD = libgrouping.la

# SPDX-License-Identifier: BSD-3-Clause
# Checkpoints, telemetry and the step boundary: all but the C boundary, for libringrt and the tests.
noinst_LTLIBRARIES += libruntime.la
libruntime_la_SOURCES = \
	libringrt/outcome.cpp libringrt/outcome.h \
	libringrt/batch.cpp libringrt/batch.h \
	libringrt/settings.cpp libringrt/settings.h \
	libringrt/signal_watch.cpp libringrt/signal_watch.h \
	libringrt/requeue.cpp libringrt/requeue.h \
	libringrt/step.cpp libringrt/step.h \
	libringrt/checkpoint/fence.cpp libringrt/checkpoint/fence.h \
	libringrt/checkpoint/files.cpp libringrt/checkpoint/files.h \
	libringrt/checkpoint/hash.cpp libringrt/checkpoint/hash.h \
	libringrt/checkpoint/hasher.cpp libringrt/checkpoint/hasher.h \
	libringrt/checkpoint/layout.cpp libringrt/checkpoint/layout.h \
	libringrt/checkpoint/load.cpp libringrt/checkpoint/load.h \
	libringrt/checkpoint/local_level.cpp libringrt/checkpoint/local_level.h \
	libringrt/checkpoint/manifest.cpp libringrt/checkpoint/manifest.h \
	libringrt/checkpoint/peers.cpp libringrt/checkpoint/peers.h \
	libringrt/checkpoint/save.cpp libringrt/checkpoint/save.h \
	libringrt/checkpoint/shard.cpp libringrt/checkpoint/shard.h \
	libringrt/checkpoint/store.cpp libringrt/checkpoint/store.h \
	libringrt/telemetry/command.cpp libringrt/telemetry/command.h \
	libringrt/telemetry/loss_curve.cpp libringrt/telemetry/loss_curve.h \
	libringrt/telemetry/reporter.cpp libringrt/telemetry/reporter.h \
	libringrt/telemetry/step_clock.cpp libringrt/telemetry/step_clock.h
libruntime_la_LIBADD = librecords.la libmodel.la

# The C boundary alone, for tests that look inside as well. (No convenience library contains another
# here: libtool cannot take files of one name out of both.)
noinst_LTLIBRARIES += libapi.la
libapi_la_SOURCES = \
	libringrt/api/handle.cpp libringrt/api/handle.h \
	libringrt/api/collectives.cpp libringrt/api/gradients.cpp libringrt/api/training.cpp \
	libringrt/ringrt.h

lib_LTLIBRARIES += libringrt.la
libringrt_la_SOURCES =
libringrt_la_LIBADD = libapi.la libruntime.la libexchange.la libcollective.la libbase.la
# Linked as C++
nodist_EXTRA_libringrt_la_SOURCES = libringrt/none.cpp
libringrt_la_LDFLAGS = -version-info 0:0:0 $(NO_UNDEFINED) -Wl,--version-script=$(top_srcdir)/libringrt/ringrt.map
EXTRA_libringrt_la_DEPENDENCIES = libringrt/ringrt.map
EXTRA_DIST += libringrt/ringrt.map
include_HEADERS += libringrt/ringrt.h libringrt/ringrt_mpi.h
pkgconfig_DATA += libringrt/ringrt.pc

dist_man_MANS += man/ringrt.3

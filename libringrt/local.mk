# SPDX-License-Identifier: BSD-3-Clause
# libringrt: each directory's sources are listed in its local.mk. Directories that are only used together form one
# convenience library. (Few of these contain another: libtool cannot extract files of the same name from
# both.)
noinst_LTLIBRARIES += libbase.la libcollective.la libbucketing.la libgradients.la libruntime.la libapi.la
libbase_la_SOURCES =
libbase_la_LIBADD = $(HWLOC_LIBS)
libcollective_la_SOURCES =
libcollective_la_LIBADD =
libbucketing_la_SOURCES =
libgradients_la_SOURCES =
libgradients_la_LIBADD = libbucketing.la
libruntime_la_SOURCES =
libruntime_la_LIBADD = librecords.la libmodel.la
libapi_la_SOURCES = libringrt/ringrt.h libringrt/ringrt_checkpoint.h libringrt/ringrt_comm.h \
	libringrt/ringrt_job.h libringrt/ringrt_live.h

include libringrt/base/local.mk
include libringrt/bootstrap/local.mk
include libringrt/transport/local.mk
include libringrt/reduce/local.mk
include libringrt/schedule/local.mk
include libringrt/shm/local.mk
include libringrt/gpu/local.mk
include libringrt/collective/local.mk
include libringrt/bucketing/local.mk
include libringrt/gradients/local.mk
include libringrt/checkpoint/local.mk
include libringrt/live/local.mk
include libringrt/job/local.mk
include libringrt/api/local.mk

lib_LTLIBRARIES += libringrt.la
libringrt_la_SOURCES =
nodist_EXTRA_libringrt_la_SOURCES = libringrt/none.cpp # linked as C++
libringrt_la_LIBADD = libapi.la libruntime.la libgradients.la libcollective.la libbase.la
libringrt_la_LDFLAGS = -version-info 1:0:0 $(NO_UNDEFINED) -Wl,--version-script=$(top_srcdir)/libringrt/ringrt.map
EXTRA_libringrt_la_DEPENDENCIES = libringrt/ringrt.map
EXTRA_DIST += libringrt/ringrt.map
include_HEADERS += libringrt/ringrt.h libringrt/ringrt_checkpoint.h libringrt/ringrt_comm.h libringrt/ringrt_job.h \
	libringrt/ringrt_live.h libringrt/ringrt_mpi.h
pkgconfig_DATA += libringrt/ringrt.pc
dist_man_MANS += man/ringrt.3 man/ringrt_checkpoint.3 man/ringrt_comm.3 man/ringrt_job.3
dist_doc_DATA += doc/allreduce.md doc/channel.md doc/checkpoints.md doc/communicators.md doc/job.md doc/live.md doc/pausing.md

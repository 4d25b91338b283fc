# SPDX-License-Identifier: BSD-3-Clause
# ringbench, and its workers for each MPI and Gloo that configure found.
if HAVE_TOOL_HEADERS
dist_man_MANS += man/ringbench.1
bin_PROGRAMS += tools/ringbench/ringbench
tools_ringbench_ringbench_SOURCES = \
	tools/ringbench/main.cpp tools/ringbench/protocol.h \
	tools/ringbench/group.cpp tools/ringbench/group.h \
	tools/ringbench/machine.cpp tools/ringbench/machine.h \
	tools/ringbench/report.cpp tools/ringbench/report.h \
	tools/ringbench/worker.cpp tools/ringbench/worker.h \
	tools/ringbench/ringrt_worker.cpp tools/ringbench/ringrt_worker.h \
	tools/ringbench/train.cpp tools/ringbench/train.h \
	tools/ringbench/replay.cpp tools/ringbench/replay.h
tools_ringbench_ringbench_CPPFLAGS = $(AM_CPPFLAGS) -DRINGBENCH_LIBEXEC='"$(pkglibexecdir)"'
tools_ringbench_ringbench_LDADD = libgradients.la libcollective.la libbase.la
endif

pkglibexec_PROGRAMS =
ringbench_worker = tools/ringbench/worker.cpp tools/ringbench/worker.h tools/ringbench/protocol.h
if HAVE_OPENMPI
pkglibexec_PROGRAMS += tools/ringbench/ringbench-openmpi
tools_ringbench_ringbench_openmpi_SOURCES = tools/ringbench/mpi_worker.cpp $(ringbench_worker)
tools_ringbench_ringbench_openmpi_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CFLAGS)
tools_ringbench_ringbench_openmpi_LDADD = $(OPENMPI_LIBS)
endif
if HAVE_MPICH
pkglibexec_PROGRAMS += tools/ringbench/ringbench-mpich
tools_ringbench_ringbench_mpich_SOURCES = tools/ringbench/mpi_worker.cpp $(ringbench_worker)
tools_ringbench_ringbench_mpich_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
tools_ringbench_ringbench_mpich_LDADD = $(MPICH_LIBS)
endif
if HAVE_GLOO
pkglibexec_PROGRAMS += tools/ringbench/ringbench-gloo
tools_ringbench_ringbench_gloo_SOURCES = tools/ringbench/gloo_worker.cpp $(ringbench_worker)
tools_ringbench_ringbench_gloo_CPPFLAGS = $(AM_CPPFLAGS)
tools_ringbench_ringbench_gloo_LDADD = -lgloo
endif

# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libbase.la libcollective.la
libbase_la_SOURCES = libringrt/base/thread.h libringrt/base/thread.cpp
libcollective_la_SOURCES = \
  libringrt/gpu/device_pointer.h libringrt/gpu/device_pointer.cpp \
  libringrt/transport/status.h \
  libringrt/transport/patience.h libringrt/transport/patience.cpp \
  libringrt/transport/socket.h libringrt/transport/socket.cpp \
  libringrt/transport/transport.h libringrt/transport/call.cpp \
  libringrt/transport/shared_memory.h libringrt/transport/shared_memory.cpp \
  libringrt/transport/node_gates.cpp \
  libringrt/transport/frame.h libringrt/transport/frame.cpp \
  libringrt/transport/messenger.h libringrt/transport/messenger.cpp \
  libringrt/transport/tcp.h libringrt/transport/tcp.cpp libringrt/transport/tcp_impl.h \
  libringrt/transport/closed_in_children.h libringrt/transport/closed_in_children.cpp \
  libringrt/transport/tcp_receive.cpp \
  libringrt/rendezvous/siphash.h libringrt/rendezvous/siphash.cpp \
  libringrt/rendezvous/identity.h libringrt/rendezvous/identity.cpp \
  libringrt/rendezvous/rendezvous_file.h libringrt/rendezvous/rendezvous_file.cpp \
  libringrt/rendezvous/hello.h libringrt/rendezvous/hello.cpp \
  libringrt/rendezvous/handshake.h libringrt/rendezvous/handshake.cpp \
  libringrt/rendezvous/meeting.h libringrt/rendezvous/meeting.cpp \
  libringrt/rendezvous/connect.h libringrt/rendezvous/connect.cpp \
  libringrt/collective/fold.h libringrt/collective/fold.cpp libringrt/collective/fold_kernels.inc \
  libringrt/collective/program.h libringrt/collective/program.cpp \
  libringrt/collective/execute.h libringrt/collective/execute.cpp \
  libringrt/collective/halving_doubling.cpp \
  libringrt/collective/cost_model.h libringrt/collective/cost_model.cpp \
  libringrt/collective/chunks.h libringrt/collective/ranges.h \
  libringrt/collective/placement.h libringrt/collective/placement.cpp \
  libringrt/collective/huge_pages.h libringrt/collective/huge_pages.cpp \
  libringrt/collective/store_choice.h libringrt/collective/store_choice.cpp \
  libringrt/collective/progress.h libringrt/collective/progress.cpp \
  libringrt/collective/across.h libringrt/collective/across.cpp \
  libringrt/collective/node.h libringrt/collective/node.cpp \
  libringrt/collective/topology.h libringrt/collective/topology.cpp \
  libringrt/collective/fork_guard.h libringrt/collective/fork_guard.cpp \
  libringrt/collective/communicator_impl.h libringrt/collective/start.cpp \
  libringrt/collective/operations.cpp \
  libringrt/collective/checks.h \
  libringrt/collective/communicator.h libringrt/collective/communicator.cpp
libcollective_la_LIBADD = $(HWLOC_LIBS)

# Buffers in GPU memory: compiled wherever CUDA and NCCL are found, and opened at run time where there is
# a GPU.
libcollective_la_SOURCES += \
  libringrt/transport/gpu.h \
  libringrt/collective/device.h libringrt/collective/device.cpp
EXTRA_DIST += libringrt/transport/fold.cu libringrt/transport/nccl.cpp libringrt/transport/no_gpu.cpp \
  libringrt/transport/gpu_functions.h
if HAVE_NCCL
noinst_LTLIBRARIES += libnvidia.la
libnvidia_la_SOURCES = libringrt/transport/nccl.cpp
nodist_libnvidia_la_SOURCES = libringrt/transport/fold_ptx.h
libnvidia_la_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
libcollective_la_LIBADD += libnvidia.la
$(libnvidia_la_OBJECTS): libringrt/transport/fold_ptx.h
CLEANFILES += libringrt/transport/fold_ptx.h
# A text, as the driver takes it; empty without nvcc.
libringrt/transport/fold_ptx.h: libringrt/transport/fold.cu
	$(AM_V_GEN)$(MKDIR_P) libringrt/transport && : >$@.ptx
if HAVE_NVCC
	$(AM_V_at)$(NVCC) -ptx -arch=compute_75 -fmad=false -std=c++17 -o $@.ptx $(srcdir)/libringrt/transport/fold.cu
endif
	$(AM_V_at){ echo 'static const char kFoldPtx[] = R"ptx('; cat $@.ptx; echo ')ptx";'; } >$@.new
	$(AM_V_at)rm -f $@.ptx && mv $@.new $@
else
libcollective_la_SOURCES += libringrt/transport/no_gpu.cpp
endif
dist_doc_DATA += doc/allreduce.md

# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libcollective.la
libcollective_la_SOURCES = \
  libringrt/transport/status.h \
  libringrt/transport/patience.h libringrt/transport/patience.cpp \
  libringrt/transport/socket.h libringrt/transport/socket.cpp \
  libringrt/transport/transport.h libringrt/transport/call.cpp \
  libringrt/transport/shared_memory.h libringrt/transport/shared_memory.cpp \
  libringrt/transport/node_gates.cpp \
  libringrt/transport/frame.h libringrt/transport/frame.cpp \
  libringrt/transport/messenger.h libringrt/transport/messenger.cpp \
  libringrt/transport/tcp.h libringrt/transport/tcp.cpp \
  libringrt/rendezvous/siphash.h libringrt/rendezvous/siphash.cpp \
  libringrt/rendezvous/identity.h libringrt/rendezvous/identity.cpp \
  libringrt/rendezvous/rendezvous_file.h libringrt/rendezvous/rendezvous_file.cpp \
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
  libringrt/collective/communicator.h libringrt/collective/communicator.cpp
libcollective_la_LIBADD = $(HWLOC_LIBS)
dist_doc_DATA += doc/allreduce.md

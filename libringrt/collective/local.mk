# SPDX-License-Identifier: BSD-3-Clause
# The communicator
libcollective_la_SOURCES += \
	libringrt/collective/checks.h \
	libringrt/collective/communicator.cpp \
	libringrt/collective/communicator.h \
	libringrt/collective/communicator_impl.h \
	libringrt/collective/hierarchical.cpp \
	libringrt/collective/hierarchical.h \
	libringrt/collective/node_chunks.h \
	libringrt/collective/operations.cpp \
	libringrt/collective/progress.cpp \
	libringrt/collective/progress.h \
	libringrt/collective/start.cpp

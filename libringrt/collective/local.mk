# SPDX-License-Identifier: BSD-3-Clause
# The communicator
libcollective_la_SOURCES += \
	libringrt/collective/blocks.cpp \
	libringrt/collective/checks.h \
	libringrt/collective/common_settings.cpp \
	libringrt/collective/common_settings.h \
	libringrt/collective/communicator.cpp \
	libringrt/collective/communicator.h \
	libringrt/collective/communicator_impl.h \
	libringrt/collective/gpu_watch.cpp \
	libringrt/collective/gpu_watch.h \
	libringrt/collective/hierarchical.cpp \
	libringrt/collective/hierarchical.h \
	libringrt/collective/node_chunks.h \
	libringrt/collective/on_gpu.cpp \
	libringrt/collective/operation_queue.cpp \
	libringrt/collective/operation_queue.h \
	libringrt/collective/operations.cpp \
	libringrt/collective/point_to_point.cpp \
	libringrt/collective/progress.cpp \
	libringrt/collective/progress.h \
	libringrt/collective/start.cpp

# SPDX-License-Identifier: BSD-3-Clause
# Shared by all directories: status, types, clocks, threads, sockets
libbase_la_SOURCES += \
	libringrt/base/affinity.cpp \
	libringrt/base/affinity.h \
	libringrt/base/child_process.cpp \
	libringrt/base/child_process.h \
	libringrt/base/clock.h \
	libringrt/base/config_struct.h \
	libringrt/base/closed_in_children.cpp \
	libringrt/base/closed_in_children.h \
	libringrt/base/connections.h \
	libringrt/base/deadline.cpp \
	libringrt/base/deadline.h \
	libringrt/base/device_memory.h \
	libringrt/base/dtype.h \
	libringrt/base/fork_guard.cpp \
	libringrt/base/fork_guard.h \
	libringrt/base/format.cpp \
	libringrt/base/format.h \
	libringrt/base/group.cpp \
	libringrt/base/group.h \
	libringrt/base/large_memory.cpp \
	libringrt/base/large_memory.h \
	libringrt/base/share.h \
	libringrt/base/slurm_env.cpp \
	libringrt/base/slurm_env.h \
	libringrt/base/socket.cpp \
	libringrt/base/socket.h \
	libringrt/base/status.h \
	libringrt/base/thread.cpp \
	libringrt/base/thread.h \
	libringrt/base/wire_string.h \
	libringrt/base/workers.cpp \
	libringrt/base/workers.h

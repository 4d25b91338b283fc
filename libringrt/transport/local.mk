# SPDX-License-Identifier: BSD-3-Clause
# Messages between ranks, without shared memory
libcollective_la_SOURCES += \
	libringrt/transport/early_messages.h \
	libringrt/transport/frame.cpp \
	libringrt/transport/frame.h \
	libringrt/transport/host_callbacks.cpp \
	libringrt/transport/host_callbacks.h \
	libringrt/transport/op_header.cpp \
	libringrt/transport/tcp.cpp \
	libringrt/transport/tcp.h \
	libringrt/transport/tcp_impl.h \
	libringrt/transport/tcp_peers.cpp \
	libringrt/transport/tcp_receive.cpp \
	libringrt/transport/transport.h

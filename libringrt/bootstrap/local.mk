# SPDX-License-Identifier: BSD-3-Clause
# How the ranks of a job find each other
libcollective_la_SOURCES += \
	libringrt/bootstrap/bootstrap.cpp \
	libringrt/bootstrap/bootstrap.h \
	libringrt/bootstrap/connect.cpp \
	libringrt/bootstrap/connect.h \
	libringrt/bootstrap/handshake.cpp \
	libringrt/bootstrap/handshake.h \
	libringrt/bootstrap/hello.cpp \
	libringrt/bootstrap/hello.h \
	libringrt/bootstrap/rank_tree.cpp \
	libringrt/bootstrap/rank_tree.h \
	libringrt/bootstrap/rendezvous_file.cpp \
	libringrt/bootstrap/rendezvous_file.h \
	libringrt/bootstrap/siphash.cpp \
	libringrt/bootstrap/siphash.h \
	libringrt/bootstrap/text_store.h \
	libringrt/bootstrap/topology.cpp \
	libringrt/bootstrap/topology.h

# SPDX-License-Identifier: BSD-3-Clause
# Collectives within a node, over shared memory
libcollective_la_SOURCES += \
	libringrt/shm/chunks.h \
	libringrt/shm/futex.h \
	libringrt/shm/gates.cpp \
	libringrt/shm/huge_pages.cpp \
	libringrt/shm/huge_pages.h \
	libringrt/shm/open.cpp \
	libringrt/shm/open.h \
	libringrt/shm/segment.cpp \
	libringrt/shm/segment.h \
	libringrt/shm/shm_blocks.cpp \
	libringrt/shm/shm_collectives.cpp \
	libringrt/shm/shm_collectives.h \
	libringrt/shm/shm_messages.cpp \
	libringrt/shm/shm_messages.h \
	libringrt/shm/store_choice.cpp \
	libringrt/shm/store_choice.h

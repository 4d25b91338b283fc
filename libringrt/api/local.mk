# SPDX-License-Identifier: BSD-3-Clause
# The C boundary, alone: for tests that look inside as well
libapi_la_SOURCES += \
	libringrt/api/collectives.cpp \
	libringrt/api/gradients.cpp \
	libringrt/api/handle.cpp \
	libringrt/api/handle.h \
	libringrt/api/training.cpp

# SPDX-License-Identifier: BSD-3-Clause
# Sums of elements by SIMD, in the requested order
libcollective_la_SOURCES += \
	libringrt/reduce/elements.h \
	libringrt/reduce/kernels.inc \
	libringrt/reduce/order.cpp \
	libringrt/reduce/order.h \
	libringrt/reduce/part.h \
	libringrt/reduce/reduce.cpp \
	libringrt/reduce/reduce.h \
	libringrt/reduce/reduce_bytes.cpp \
	libringrt/reduce/reduce_bytes.h

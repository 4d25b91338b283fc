# SPDX-License-Identifier: BSD-3-Clause
# Sums of elements by SIMD, in rank order
libcollective_la_SOURCES += \
	libringrt/reduce/kernels.inc \
	libringrt/reduce/reduce.cpp \
	libringrt/reduce/reduce.h

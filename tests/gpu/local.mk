# SPDX-License-Identifier: BSD-3-Clause
# On a real GPU, also by "tests/gpu/run"; skipped without one. Prints TAP, which automake counts as one test.
EXTRA_DIST += tests/gpu/run tests/gpu/test_gpu.cpp
if HAVE_NCCL
check_PROGRAMS += tests/gpu/test_gpu
TESTS += tests/gpu/test_gpu
tests_gpu_test_gpu_SOURCES = tests/gpu/test_gpu.cpp tests/support/ranks.h
tests_gpu_test_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
tests_gpu_test_gpu_LDADD = libringrt.la $(NCCL_LIBS)
endif

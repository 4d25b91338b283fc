# SPDX-License-Identifier: BSD-3-Clause
# On a real GPU, also by "tests/gpu/run"; skipped without one. Each prints TAP, which automake counts as one test.
EXTRA_DIST += tests/gpu/run tests/gpu/test_gpu.cpp tests/gpu/test_gpu_state.cpp tests/gpu/gpu_tests.h \
	tests/gpu/measure_gpu.cpp tests/gpu/measure_gpu.h tests/gpu/measure_state.cpp
if HAVE_NCCL
gpu_tests = tests/gpu/test_gpu tests/gpu/test_gpu_state
check_PROGRAMS += $(gpu_tests) tests/gpu/measure_gpu
TESTS += $(gpu_tests)
gpu_test_headers = tests/gpu/gpu_tests.h tests/support/ranks.h
tests_gpu_test_gpu_SOURCES = tests/gpu/test_gpu.cpp $(gpu_test_headers)
tests_gpu_test_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
tests_gpu_test_gpu_LDADD = libringrt.la $(NCCL_LIBS)
tests_gpu_test_gpu_state_SOURCES = tests/gpu/test_gpu_state.cpp $(gpu_test_headers) tests/support/live_job.h
tests_gpu_test_gpu_state_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
tests_gpu_test_gpu_state_LDADD = libringrt.la $(NCCL_LIBS)

# Times, not a test: "tests/gpu/run" prints them.
tests_gpu_measure_gpu_SOURCES = tests/gpu/measure_gpu.cpp tests/gpu/measure_gpu.h tests/gpu/measure_state.cpp \
	$(gpu_test_headers)
tests_gpu_measure_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
tests_gpu_measure_gpu_LDADD = libringrt.la $(NCCL_LIBS)
endif

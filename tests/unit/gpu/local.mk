# SPDX-License-Identifier: BSD-3-Clause
# Buffers in GPU memory, with mock GPUs and mock drivers
check_PROGRAMS += tests/unit/gpu/test_lazy_gpu
TESTS += tests/unit/gpu/test_lazy_gpu
tests_unit_gpu_test_lazy_gpu_SOURCES = tests/unit/gpu/test_lazy_gpu.cpp tests/support/check.h \
	tests/support/lazy_context.h tests/support/lazy_gpu.h
tests_unit_gpu_test_lazy_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_gpu_test_lazy_gpu_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

# Mock NVIDIA drivers: one that only classifies pointers, and a complete one.
check_LTLIBRARIES += tests/support/pointers/libcuda.la tests/support/driver/libcuda.la
gpu_driver_define =
if HAVE_NCCL
gpu_driver_define += -DTEST_NCCL_DRIVER
endif
fake_cuda_flags = -version-info 1:0:0 -rpath /nowhere
tests_support_pointers_libcuda_la_SOURCES = tests/support/fake_cuda.cpp
tests_support_pointers_libcuda_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=default
tests_support_pointers_libcuda_la_LDFLAGS = $(fake_cuda_flags)
tests_support_driver_libcuda_la_SOURCES = tests/support/fake_cuda.cpp
tests_support_driver_libcuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_CUDA_DRIVER
tests_support_driver_libcuda_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=default
tests_support_driver_libcuda_la_LDFLAGS = $(fake_cuda_flags)
check_PROGRAMS += tests/unit/gpu/test_gpu_driver
TESTS += tests/unit/gpu/test_gpu_driver
tests_unit_gpu_test_gpu_driver_SOURCES = tests/unit/gpu/test_gpu_driver.cpp tests/support/alone.h \
	tests/support/check.h tests/support/ranks.h
tests_unit_gpu_test_gpu_driver_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) \
	$(gpu_driver_define) -DFAKE_POINTERS='"$(abs_builddir)/tests/support/pointers/.libs/libcuda.so.1"' \
	-DFAKE_DRIVER='"$(abs_builddir)/tests/support/driver/.libs/libcuda.so.1"'
tests_unit_gpu_test_gpu_driver_LDADD = libapi.la libruntime.la libgradients.la libcollective.la libbase.la $(CHECK_LIBS)
EXTRA_tests_unit_gpu_test_gpu_driver_DEPENDENCIES = tests/support/pointers/libcuda.la tests/support/driver/libcuda.la

EXTRA_DIST += tests/unit/gpu/test_nccl_comm.cpp
if HAVE_NCCL
check_PROGRAMS += tests/unit/gpu/test_nccl_comm
TESTS += tests/unit/gpu/test_nccl_comm
tests_unit_gpu_test_nccl_comm_SOURCES = tests/unit/gpu/test_nccl_comm.cpp tests/support/check.h
tests_unit_gpu_test_nccl_comm_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_gpu_test_nccl_comm_LDADD = libcollective.la libbase.la $(CHECK_LIBS)
endif

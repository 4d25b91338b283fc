# SPDX-License-Identifier: BSD-3-Clause
# Tests of transports, start-up and collectives: alone, and over forked ranks.
collective_tests = \
	tests/unit/test_reduce \
	tests/unit/test_schedules \
	tests/unit/test_tcp \
	tests/unit/test_gpu_driver \
	tests/multiproc/test_collectives \
	tests/multiproc/test_device \
	tests/multiproc/test_failures \
	tests/multiproc/test_strangers \
	tests/multiproc/test_orders
check_PROGRAMS += $(collective_tests)
TESTS += $(collective_tests)
multiproc_headers = tests/support/check.h tests/support/ranks.h tests/multiproc/layout.h

tests_multiproc_test_collectives_SOURCES = tests/multiproc/test_collectives.cpp $(multiproc_headers)
tests_multiproc_test_collectives_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_collectives_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

tests_multiproc_test_orders_SOURCES = tests/multiproc/test_orders.cpp $(multiproc_headers)
tests_multiproc_test_orders_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_orders_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

tests_multiproc_test_failures_SOURCES = tests/multiproc/test_failures.cpp tests/multiproc/training.h \
	$(multiproc_headers)
tests_multiproc_test_failures_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_failures_LDADD = libcollective.la libbase.la $(CHECK_LIBS)
tests_multiproc_test_strangers_SOURCES = tests/multiproc/test_strangers.cpp tests/multiproc/training.h \
	$(multiproc_headers)
tests_multiproc_test_strangers_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_strangers_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

# Over a made-up GPU; a real one: tests/gpu
tests_multiproc_test_device_SOURCES = tests/multiproc/test_device.cpp tests/support/fake_gpu.h $(multiproc_headers)
tests_multiproc_test_device_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_device_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

# On a real GPU, by "tests/gpu/run" too; skipped without one. TAP, of which automake counts the whole.
EXTRA_DIST += tests/gpu/run tests/gpu/test_gpu.cpp
if HAVE_NCCL
check_PROGRAMS += tests/gpu/test_gpu
TESTS += tests/gpu/test_gpu
tests_gpu_test_gpu_SOURCES = tests/gpu/test_gpu.cpp tests/support/ranks.h
tests_gpu_test_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
tests_gpu_test_gpu_LDADD = libringrt.la $(NCCL_LIBS)
endif

# NVIDIA's driver, as the tests make it: one that only knows pointers, and a whole one.
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
tests_unit_test_gpu_driver_SOURCES = tests/unit/test_gpu_driver.cpp tests/support/alone.h \
	tests/support/check.h tests/support/ranks.h
tests_unit_test_gpu_driver_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) \
	$(gpu_driver_define) -DFAKE_POINTERS='"$(abs_builddir)/tests/support/pointers/.libs/libcuda.so.1"' \
	-DFAKE_DRIVER='"$(abs_builddir)/tests/support/driver/.libs/libcuda.so.1"'
tests_unit_test_gpu_driver_LDADD = libapi.la libruntime.la libgradients.la libcollective.la libbase.la $(CHECK_LIBS)
EXTRA_tests_unit_test_gpu_driver_DEPENDENCIES = tests/support/pointers/libcuda.la tests/support/driver/libcuda.la

# More than 2 GiB: 5 GiB of memory, so by "make check-large" only.
EXTRA_PROGRAMS += tests/multiproc/test_large
tests_multiproc_test_large_SOURCES = tests/multiproc/test_large.cpp tests/support/ranks.h tests/multiproc/layout.h
tests_multiproc_test_large_LDADD = libcollective.la libbase.la
check-large: tests/multiproc/test_large
	tests/multiproc/test_large
.PHONY: check-large

tests_unit_test_tcp_SOURCES = tests/unit/test_tcp.cpp tests/support/check.h tests/support/ranks.h
tests_unit_test_tcp_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_tcp_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

tests_unit_test_reduce_SOURCES = tests/unit/test_reduce.cpp tests/support/check.h
tests_unit_test_reduce_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_reduce_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

tests_unit_test_schedules_SOURCES = tests/unit/test_schedules.cpp tests/support/check.h
tests_unit_test_schedules_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_schedules_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

# Between network namespaces with shaped links; needs root, and minutes: run it by hand, or by
# "make check-netns".
EXTRA_DIST += tests/netns/run tests/netns/agent
check-netns: all
	$(srcdir)/tests/netns/run 2
	$(srcdir)/tests/netns/run 3
	$(srcdir)/tests/netns/run 4
.PHONY: check-netns

# Not a test: what the processors allow. make tests/speed/direct_limit
EXTRA_PROGRAMS += tests/speed/direct_limit
tests_speed_direct_limit_SOURCES = tests/speed/direct_limit.cpp
tests_speed_direct_limit_LDADD = libcollective.la libbase.la

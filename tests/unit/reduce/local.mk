# SPDX-License-Identifier: BSD-3-Clause
# Reductions in one process
check_PROGRAMS += tests/unit/reduce/test_reduce
TESTS += tests/unit/reduce/test_reduce
tests_unit_reduce_test_reduce_SOURCES = tests/unit/reduce/test_reduce.cpp tests/support/check.h
tests_unit_reduce_test_reduce_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_reduce_test_reduce_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/reduce/test_reduce_bytes
TESTS += tests/unit/reduce/test_reduce_bytes
tests_unit_reduce_test_reduce_bytes_SOURCES = tests/unit/reduce/test_reduce_bytes.cpp tests/support/check.h
tests_unit_reduce_test_reduce_bytes_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_reduce_test_reduce_bytes_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

# Not a test: measures the processors' limit. make tests/speed/direct_limit
EXTRA_PROGRAMS += tests/speed/direct_limit
tests_speed_direct_limit_SOURCES = tests/speed/direct_limit.cpp
tests_speed_direct_limit_LDADD = libcollective.la libbase.la

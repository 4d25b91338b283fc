# SPDX-License-Identifier: BSD-3-Clause
# The C API, through the shared library, as programs use it
api_support = tests/support/alone.h tests/support/check.h tests/support/ranks.h

api_tests = \
	tests/unit/api/test_comm_config \
	tests/unit/api/test_guard \
	tests/unit/api/test_placed_rows \
	tests/unit/api/test_ringrt_api \
	tests/unit/api/test_ringrt_limits
check_PROGRAMS += $(api_tests)
TESTS += $(api_tests)

tests_unit_api_test_comm_config_SOURCES = tests/unit/api/test_comm_config.cpp tests/support/check.h \
	tests/support/directory.h
tests_unit_api_test_comm_config_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_api_test_comm_config_LDADD = libringrt.la $(CHECK_LIBS)

tests_unit_api_test_guard_SOURCES = tests/unit/api/test_guard.cpp tests/support/check.h
tests_unit_api_test_guard_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_api_test_guard_LDADD = libapi.la libruntime.la libgradients.la libcollective.la libbase.la $(CHECK_LIBS)

tests_unit_api_test_placed_rows_SOURCES = tests/unit/api/test_placed_rows.cpp $(api_support)
tests_unit_api_test_placed_rows_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_api_test_placed_rows_LDADD = libringrt.la $(CHECK_LIBS)

tests_unit_api_test_ringrt_api_SOURCES = tests/unit/api/test_ringrt_api.cpp $(api_support)
tests_unit_api_test_ringrt_api_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_api_test_ringrt_api_LDADD = libringrt.la $(CHECK_LIBS)

tests_unit_api_test_ringrt_limits_SOURCES = tests/unit/api/test_ringrt_limits.cpp $(api_support)
tests_unit_api_test_ringrt_limits_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_api_test_ringrt_limits_LDADD = libringrt.la $(CHECK_LIBS)

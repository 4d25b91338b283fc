# SPDX-License-Identifier: BSD-3-Clause
# Tests of transports, start-up and collectives: alone, and over forked ranks.
collective_tests = \
	tests/unit/test_programs \
	tests/multiproc/test_collectives \
	tests/multiproc/test_failures
check_PROGRAMS += $(collective_tests)
TESTS += $(collective_tests)
multiproc_headers = tests/support/check.h tests/support/ranks.h tests/multiproc/layout.h

tests_multiproc_test_collectives_SOURCES = tests/multiproc/test_collectives.cpp $(multiproc_headers)
tests_multiproc_test_collectives_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_collectives_LDADD = libcollective.la $(CHECK_LIBS)

tests_multiproc_test_failures_SOURCES = tests/multiproc/test_failures.cpp $(multiproc_headers)
tests_multiproc_test_failures_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_failures_LDADD = libcollective.la $(CHECK_LIBS)

tests_unit_test_programs_SOURCES = tests/unit/test_programs.cpp tests/support/check.h
tests_unit_test_programs_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_programs_LDADD = libcollective.la $(CHECK_LIBS)

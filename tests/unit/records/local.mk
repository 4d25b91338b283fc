# SPDX-License-Identifier: BSD-3-Clause
# The grammar of the flags, and the two records.
records_tests = \
	tests/unit/records/test_records
check_PROGRAMS += $(records_tests)
TESTS += $(records_tests)

tests_unit_records_test_records_SOURCES = tests/unit/records/test_records.cpp tests/support/check.h
tests_unit_records_test_records_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_records_test_records_LDADD = librecords.la $(CHECK_LIBS)

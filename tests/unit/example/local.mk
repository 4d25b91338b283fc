# SPDX-License-Identifier: BSD-3-Clause
# The parts of the example program.
example_tests = \
	tests/unit/example/test_digits
check_PROGRAMS += $(example_tests)
TESTS += $(example_tests)

tests_unit_example_test_digits_SOURCES = tests/unit/example/test_digits.cpp tests/support/check.h
tests_unit_example_test_digits_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_example_test_digits_LDADD = libdigits.la libringrt.la $(CHECK_LIBS)

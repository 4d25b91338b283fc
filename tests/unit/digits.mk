# SPDX-License-Identifier: BSD-3-Clause
# The parts of the example program, and of the demo.
check_PROGRAMS += tests/unit/test_digits
TESTS += tests/unit/test_digits
tests_unit_test_digits_SOURCES = tests/unit/test_digits.cpp tests/support/check.h
tests_unit_test_digits_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_digits_LDADD = libdigits.la libringrt.la $(CHECK_LIBS)

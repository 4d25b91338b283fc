# SPDX-License-Identifier: BSD-3-Clause
# ringstat's formatting, without Slurm.
if HAVE_TOOL_HEADERS
check_PROGRAMS += tests/unit/test_ringstat
TESTS += tests/unit/test_ringstat
tests_unit_test_ringstat_SOURCES = tests/unit/test_ringstat.cpp tests/support/check.h
tests_unit_test_ringstat_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_ringstat_LDADD = libringstat.la $(CHECK_LIBS)
endif

# SPDX-License-Identifier: BSD-3-Clause
# ringstat's formatting, without Slurm.
if HAVE_TOOL_HEADERS
check_PROGRAMS += tests/unit/test_ringstat tests/unit/test_ringstat_history
TESTS += tests/unit/test_ringstat tests/unit/test_ringstat_history
tests_unit_test_ringstat_SOURCES = tests/unit/test_ringstat.cpp tests/support/check.h
tests_unit_test_ringstat_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_ringstat_LDADD = libringstat.la $(CHECK_LIBS)
tests_unit_test_ringstat_history_SOURCES = tests/unit/test_ringstat_history.cpp tests/support/check.h
tests_unit_test_ringstat_history_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_ringstat_history_LDADD = libringstat.la $(CHECK_LIBS)
endif

# SPDX-License-Identifier: BSD-3-Clause
# What the tools print and draw, without Slurm.
if HAVE_TOOL_HEADERS
tools_tests = \
	tests/unit/tools/test_ringfit \
	tests/unit/tools/test_ringplan \
	tests/unit/tools/test_ringstat \
	tests/unit/tools/test_ringstat_accounting \
	tests/unit/tools/test_ringstat_history
check_PROGRAMS += $(tools_tests)
TESTS += $(tools_tests)

tests_unit_tools_test_ringfit_SOURCES = tests/unit/tools/test_ringfit.cpp tests/support/check.h
tests_unit_tools_test_ringfit_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_tools_test_ringfit_LDADD = libringfit.la $(CHECK_LIBS)

tests_unit_tools_test_ringplan_SOURCES = tests/unit/tools/test_ringplan.cpp \
	tests/unit/bucketing/bucketing_profiles.h tests/support/check.h
tests_unit_tools_test_ringplan_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_tools_test_ringplan_LDADD = libringplan.la $(CHECK_LIBS)

tests_unit_tools_test_ringstat_SOURCES = tests/unit/tools/test_ringstat.cpp tests/support/check.h
tests_unit_tools_test_ringstat_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_tools_test_ringstat_LDADD = libringstat.la $(CHECK_LIBS)

tests_unit_tools_test_ringstat_accounting_SOURCES = tests/unit/tools/test_ringstat_accounting.cpp tests/support/check.h
tests_unit_tools_test_ringstat_accounting_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_tools_test_ringstat_accounting_LDADD = libringstat.la $(CHECK_LIBS)
tests_unit_tools_test_ringstat_history_SOURCES = tests/unit/tools/test_ringstat_history.cpp tests/support/check.h
tests_unit_tools_test_ringstat_history_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_tools_test_ringstat_history_LDADD = libringstat.la $(CHECK_LIBS)
endif

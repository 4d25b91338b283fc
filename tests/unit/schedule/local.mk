# SPDX-License-Identifier: BSD-3-Clause
# Schedules in one process
check_PROGRAMS += tests/unit/schedule/test_schedules
TESTS += tests/unit/schedule/test_schedules
tests_unit_schedule_test_schedules_SOURCES = tests/unit/schedule/test_schedules.cpp tests/support/check.h \
	tests/support/simulated_ranks.h
tests_unit_schedule_test_schedules_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_schedule_test_schedules_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

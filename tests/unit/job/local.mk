# SPDX-License-Identifier: BSD-3-Clause
# The parts of the step boundary: the batch, progress, settings, requeue.
job_tests = \
	tests/unit/job/test_progress \
	tests/unit/job/test_runtime \
	tests/unit/job/test_save_state \
	tests/unit/job/test_step_vote
check_PROGRAMS += $(job_tests)
TESTS += $(job_tests)

tests_unit_job_test_progress_SOURCES = tests/unit/job/test_progress.cpp tests/support/check.h
tests_unit_job_test_progress_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_job_test_progress_LDADD = libcontroller.la libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_job_test_runtime_SOURCES = tests/unit/job/test_runtime.cpp tests/support/check.h
tests_unit_job_test_runtime_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_job_test_runtime_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_job_test_save_state_SOURCES = tests/unit/job/test_save_state.cpp tests/support/check.h
tests_unit_job_test_save_state_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_job_test_save_state_LDADD = libbase.la $(CHECK_LIBS)

tests_unit_job_test_step_vote_SOURCES = tests/unit/job/test_step_vote.cpp tests/support/check.h
tests_unit_job_test_step_vote_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_job_test_step_vote_LDADD = $(CHECK_LIBS)

# SPDX-License-Identifier: BSD-3-Clause
# Tests of checkpoints, the batch, the C API and the step boundary.
runtime_tests = \
	tests/unit/test_checkpoint
check_PROGRAMS += $(runtime_tests)
TESTS += $(runtime_tests)
runtime_libs = libruntime.la libcollective.la

tests_unit_test_checkpoint_SOURCES = tests/unit/test_checkpoint.cpp tests/support/check.h \
	tests/support/memory_files.h tests/support/thread_peers.h
tests_unit_test_checkpoint_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_checkpoint_LDADD = $(runtime_libs) $(CHECK_LIBS)

# SPDX-License-Identifier: BSD-3-Clause
# The channel between rank 0 and Slurm on a node.
channel_tests = \
	tests/unit/channel/test_channel
check_PROGRAMS += $(channel_tests)
TESTS += $(channel_tests)

tests_unit_channel_test_channel_SOURCES = tests/unit/channel/test_channel.cpp tests/support/channel_service.h \
	tests/support/check.h tests/support/directory.h tests/support/ranks.h
tests_unit_channel_test_channel_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_channel_test_channel_LDADD = libruntime.la libchannel.la libbase.la $(CHECK_LIBS)

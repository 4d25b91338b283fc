# SPDX-License-Identifier: BSD-3-Clause
# Resizing in place, explored exhaustively. With real ranks: tests/multiproc/test_live
live_tests = \
	tests/unit/live/test_copy_placement \
	tests/unit/live/test_join \
	tests/unit/live/test_live_model \
	tests/unit/live/test_row_parts \
	tests/unit/live/test_settlement
check_PROGRAMS += $(live_tests)
TESTS += $(live_tests)

tests_unit_live_test_join_SOURCES = tests/unit/live/test_join.cpp tests/support/check.h tests/support/directory.h
tests_unit_live_test_join_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_live_test_join_LDADD = libruntime.la libgradients.la libcollective.la librecords.la libmodel.la libbase.la $(CHECK_LIBS)

tests_unit_live_test_live_model_SOURCES = tests/unit/live/test_live_model.cpp tests/support/check.h \
	tests/support/live_ranks.h tests/support/live_world.h
tests_unit_live_test_live_model_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_live_test_live_model_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_live_test_copy_placement_SOURCES = tests/unit/live/test_copy_placement.cpp tests/support/check.h \
	tests/support/row_layouts.h
tests_unit_live_test_copy_placement_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_live_test_copy_placement_LDADD = libruntime.la libgradients.la libcollective.la librecords.la libmodel.la libbase.la $(CHECK_LIBS)

tests_unit_live_test_row_parts_SOURCES = tests/unit/live/test_row_parts.cpp tests/support/check.h \
	tests/support/row_layouts.h
tests_unit_live_test_row_parts_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_live_test_row_parts_LDADD = libruntime.la libgradients.la libcollective.la librecords.la libmodel.la libbase.la $(CHECK_LIBS)

tests_unit_live_test_settlement_SOURCES = tests/unit/live/test_settlement.cpp tests/support/check.h
tests_unit_live_test_settlement_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_live_test_settlement_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

# Not a test: measures how long training pauses. make live-gap
EXTRA_PROGRAMS += tests/speed/live_gap
tests_speed_live_gap_SOURCES = tests/speed/live_gap.cpp tests/support/directory.h tests/support/ranks.h
tests_speed_live_gap_LDADD = libringrt.la libbase.la
live-gap: tests/speed/live_gap
	tests/speed/live_gap 20 100 1
	tests/speed/live_gap 20 100 2
	tests/speed/live_gap 20 100 1 rows
	tests/speed/live_gap 20 100 1 gradients
	tests/speed/live_gap 20 100 1 whole handles job
.PHONY: live-gap

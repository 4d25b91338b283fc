# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of records, policy and controller: one program each, on the shipped objects.
core_tests = \
	tests/unit/test_controller \
	tests/unit/test_model \
	tests/unit/test_records
check_PROGRAMS += $(core_tests)
TESTS += $(core_tests)

fake_cluster = tests/support/fake_cluster.cpp tests/support/fake_cluster.h tests/support/world.h

tests_unit_test_controller_SOURCES = tests/unit/test_controller.cpp tests/support/check.h \
	$(fake_cluster)
tests_unit_test_controller_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_controller_LDADD = libcontroller.la libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_model_SOURCES = tests/unit/test_model.cpp tests/support/check.h $(fake_cluster)
tests_unit_test_model_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_model_LDADD = libcontroller.la libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_records_SOURCES = tests/unit/test_records.cpp tests/support/check.h
tests_unit_test_records_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_records_LDADD = librecords.la $(CHECK_LIBS)

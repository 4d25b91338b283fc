# SPDX-License-Identifier: BSD-3-Clause
# A transport in one process
check_PROGRAMS += tests/unit/transport/test_tcp
TESTS += tests/unit/transport/test_tcp
tests_unit_transport_test_tcp_SOURCES = tests/unit/transport/test_tcp.cpp tests/support/check.h tests/support/ranks.h
tests_unit_transport_test_tcp_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_transport_test_tcp_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/transport/test_connect
TESTS += tests/unit/transport/test_connect
tests_unit_transport_test_connect_SOURCES = tests/unit/transport/test_connect.cpp tests/support/check.h \
	tests/support/connectors.h
tests_unit_transport_test_connect_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_transport_test_connect_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/transport/test_connect_slow
TESTS += tests/unit/transport/test_connect_slow
tests_unit_transport_test_connect_slow_SOURCES = tests/unit/transport/test_connect_slow.cpp \
	tests/support/check.h tests/support/connectors.h tests/support/directory.h tests/support/ranks.h
tests_unit_transport_test_connect_slow_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_transport_test_connect_slow_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/unit/transport/test_deadline
TESTS += tests/unit/transport/test_deadline
tests_unit_transport_test_deadline_SOURCES = tests/unit/transport/test_deadline.cpp tests/support/check.h
tests_unit_transport_test_deadline_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_transport_test_deadline_LDADD = libbase.la $(CHECK_LIBS)

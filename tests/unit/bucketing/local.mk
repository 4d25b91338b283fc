# SPDX-License-Identifier: BSD-3-Clause
# Unit and property tests of libringrt/bucketing, on generated profiles.
bucketing_tests = \
	tests/unit/bucketing/test_bucketing_profile \
	tests/unit/bucketing/test_bucketing_rules \
	tests/unit/bucketing/test_bucketing_plan \
	tests/unit/bucketing/test_bucketing_hard \
	tests/unit/bucketing/test_bucketing_online \
	tests/unit/bucketing/test_bucketing_learner
check_PROGRAMS += $(bucketing_tests)
TESTS += $(bucketing_tests)

tests_unit_bucketing_test_bucketing_profile_SOURCES = tests/unit/bucketing/test_bucketing_profile.cpp \
	tests/unit/bucketing/bucketing_profiles.h tests/support/check.h
tests_unit_bucketing_test_bucketing_profile_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_bucketing_test_bucketing_profile_LDADD = libbucketing.la $(CHECK_LIBS)

tests_unit_bucketing_test_bucketing_rules_SOURCES = tests/unit/bucketing/test_bucketing_rules.cpp \
	tests/unit/bucketing/bucketing_profiles.h tests/support/check.h
tests_unit_bucketing_test_bucketing_rules_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_bucketing_test_bucketing_rules_LDADD = libbucketing.la $(CHECK_LIBS)

tests_unit_bucketing_test_bucketing_plan_SOURCES = tests/unit/bucketing/test_bucketing_plan.cpp \
	tests/unit/bucketing/bucketing_profiles.h tests/support/check.h
tests_unit_bucketing_test_bucketing_plan_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_bucketing_test_bucketing_plan_LDADD = libbucketing.la $(CHECK_LIBS)

tests_unit_bucketing_test_bucketing_hard_SOURCES = tests/unit/bucketing/test_bucketing_hard.cpp \
	tests/unit/bucketing/hard_profiles.h tests/unit/bucketing/bucketing_profiles.h tests/support/check.h
tests_unit_bucketing_test_bucketing_hard_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_bucketing_test_bucketing_hard_LDADD = libbucketing.la $(CHECK_LIBS)

# All points of all hard profiles: takes minutes.
check-grouping-hard: tests/unit/bucketing/test_bucketing_hard
	tests/unit/bucketing/test_bucketing_hard all
.PHONY: check-grouping-hard

tests_unit_bucketing_test_bucketing_online_SOURCES = tests/unit/bucketing/test_bucketing_online.cpp \
	tests/unit/bucketing/bucketing_profiles.h tests/support/check.h
tests_unit_bucketing_test_bucketing_online_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_bucketing_test_bucketing_online_LDADD = libbucketing.la $(CHECK_LIBS)

tests_unit_bucketing_test_bucketing_learner_SOURCES = tests/unit/bucketing/test_bucketing_learner.cpp \
	tests/unit/bucketing/bucketing_profiles.h tests/support/check.h
tests_unit_bucketing_test_bucketing_learner_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_bucketing_test_bucketing_learner_LDADD = libgradients.la libcollective.la libbase.la $(CHECK_LIBS)

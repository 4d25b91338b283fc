# SPDX-License-Identifier: BSD-3-Clause
# The models learned from jobs.
model_tests = \
	tests/unit/model/test_models
check_PROGRAMS += $(model_tests)
TESTS += $(model_tests)

tests_unit_model_test_models_SOURCES = tests/unit/model/test_models.cpp $(policy_test_support)
tests_unit_model_test_models_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_model_test_models_LDADD = libpolicy.la $(CHECK_LIBS)

# SPDX-License-Identifier: BSD-3-Clause
# Every policy's promises, the models, and the simulator with golden scenarios.
policy_tests = tests/unit/test_policies
check_PROGRAMS += $(policy_tests)
TESTS += $(policy_tests)

tests_unit_test_policies_SOURCES = tests/unit/test_policies.cpp tests/support/check.h
tests_unit_test_policies_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_policies_LDADD = libpolicy.la $(CHECK_LIBS)

if HAVE_TOOL_HEADERS
check_PROGRAMS += tests/unit/test_ringsim
TESTS += tests/unit/test_ringsim
tests_unit_test_ringsim_SOURCES = tests/unit/test_ringsim.cpp tests/support/check.h
tests_unit_test_ringsim_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_ringsim_LDADD = libringsim.la $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_ringfit
TESTS += tests/unit/test_ringfit
tests_unit_test_ringfit_SOURCES = tests/unit/test_ringfit.cpp tests/support/check.h
tests_unit_test_ringfit_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_ringfit_LDADD = libringfit.la $(CHECK_LIBS)
if HAVE_YAML
check_PROGRAMS += tests/unit/test_scenario
TESTS += tests/unit/test_scenario
tests_unit_test_scenario_SOURCES = tests/unit/test_scenario.cpp tests/support/check.h
tests_unit_test_scenario_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_scenario_LDADD = libringsim.la $(CHECK_LIBS)
endif

TESTS += tests/scenario/golden
EXTRA_DIST += tests/scenario/golden tests/scenario/small.csv tests/scenario/tables/model.csv \
	tests/scenario/golden.txt tests/scenario/mixed.yaml tests/scenario/mixed.txt
endif

# SPDX-License-Identifier: BSD-3-Clause
# Every policy's promises, the models, and the simulator with golden scenarios.
policy_tests = tests/unit/test_doubling tests/unit/test_doubling_engine tests/unit/test_fairness \
	tests/unit/test_models tests/unit/test_own_policy tests/unit/test_policy_contract
check_PROGRAMS += $(policy_tests)
TESTS += $(policy_tests)
policy_test_support = tests/support/check.h tests/support/jobs.h

tests_unit_test_policy_contract_SOURCES = tests/unit/test_policy_contract.cpp $(policy_test_support)
tests_unit_test_policy_contract_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_policy_contract_LDADD = libbaselines.la libpolicy.la $(CHECK_LIBS)
tests_unit_test_doubling_SOURCES = tests/unit/test_doubling.cpp $(policy_test_support)
tests_unit_test_doubling_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_doubling_LDADD = libpolicy.la $(CHECK_LIBS)
# A policy that is not ours, as somebody would add it: its file, and its name in the list.
tests_unit_test_own_policy_SOURCES = tests/unit/test_own_policy.cpp tests/unit/equal_share.cpp \
	slurm_plugin/policy/registry.cpp $(policy_test_support)
tests_unit_test_own_policy_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) \
	-D'RINGRT_POLICIES(X)=X(doubling) X(equal_share)'
tests_unit_test_own_policy_LDADD = libcontroller.la $(CHECK_LIBS)
tests_unit_test_fairness_SOURCES = tests/unit/test_fairness.cpp $(policy_test_support)
tests_unit_test_fairness_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_fairness_LDADD = libpolicy.la $(CHECK_LIBS)
tests_unit_test_doubling_engine_SOURCES = tests/unit/test_doubling_engine.cpp $(policy_test_support)
tests_unit_test_doubling_engine_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_doubling_engine_LDADD = libpolicy.la $(CHECK_LIBS)
tests_unit_test_models_SOURCES = tests/unit/test_models.cpp $(policy_test_support)
tests_unit_test_models_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_models_LDADD = libpolicy.la $(CHECK_LIBS)

if HAVE_TOOL_HEADERS
check_PROGRAMS += tests/unit/test_ringsim
TESTS += tests/unit/test_ringsim
tests_unit_test_ringsim_SOURCES = tests/unit/test_ringsim.cpp tests/support/check.h
tests_unit_test_ringsim_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_ringsim_LDADD = libringsim.la $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_plugin_run
TESTS += tests/unit/test_plugin_run
tests_unit_test_plugin_run_SOURCES = tests/unit/test_plugin_run.cpp tests/support/check.h
tests_unit_test_plugin_run_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_plugin_run_LDADD = libringsim.la $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_estimators
TESTS += tests/unit/test_estimators
tests_unit_test_estimators_SOURCES = tests/unit/test_estimators.cpp tests/support/check.h
tests_unit_test_estimators_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_estimators_LDADD = libsim.la $(CHECK_LIBS)
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
tests_unit_test_scenario_LDADD = libsim.la $(CHECK_LIBS)
endif

TESTS += tests/scenario/golden
EXTRA_DIST += tests/scenario/golden tests/scenario/small.csv tests/scenario/tables/model.csv \
	tests/scenario/golden.txt tests/scenario/mixed.yaml tests/scenario/mixed.txt \
	tests/scenario/paper.txt
endif

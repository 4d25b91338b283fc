# SPDX-License-Identifier: BSD-3-Clause
# The simulator, with golden scenarios.
if HAVE_TOOL_HEADERS
sim_tests = \
	tests/unit/sim/test_estimators \
	tests/unit/sim/test_gpu_types \
	tests/unit/sim/test_plugin_run \
	tests/unit/sim/test_ringsim
check_PROGRAMS += $(sim_tests)
TESTS += $(sim_tests)

tests_unit_sim_test_estimators_SOURCES = tests/unit/sim/test_estimators.cpp tests/support/check.h
tests_unit_sim_test_estimators_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_sim_test_estimators_LDADD = libsim.la $(CHECK_LIBS)

tests_unit_sim_test_gpu_types_SOURCES = tests/unit/sim/test_gpu_types.cpp tests/support/check.h
tests_unit_sim_test_gpu_types_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_sim_test_gpu_types_LDADD = libsim.la $(CHECK_LIBS)

tests_unit_sim_test_plugin_run_SOURCES = tests/unit/sim/test_plugin_run.cpp tests/support/check.h
tests_unit_sim_test_plugin_run_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_sim_test_plugin_run_LDADD = libringsim.la $(CHECK_LIBS)

tests_unit_sim_test_ringsim_SOURCES = tests/unit/sim/test_ringsim.cpp tests/support/check.h
tests_unit_sim_test_ringsim_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_sim_test_ringsim_LDADD = libringsim.la $(CHECK_LIBS)

if HAVE_YAML
check_PROGRAMS += tests/unit/sim/test_scenario
TESTS += tests/unit/sim/test_scenario
tests_unit_sim_test_scenario_SOURCES = tests/unit/sim/test_scenario.cpp tests/support/check.h
tests_unit_sim_test_scenario_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_sim_test_scenario_LDADD = libsim.la $(CHECK_LIBS)
endif

TESTS += tests/scenario/golden
EXTRA_DIST += tests/scenario/golden tests/scenario/small.csv tests/scenario/tables/model.csv \
	tests/scenario/golden.txt tests/scenario/mixed.yaml tests/scenario/mixed.txt \
	tests/scenario/paper.txt
endif

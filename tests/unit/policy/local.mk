# SPDX-License-Identifier: BSD-3-Clause
# The promises of every policy, and the engine compared with the algorithm.
policy_test_support = tests/support/check.h tests/support/jobs.h

policy_tests = \
	tests/unit/policy/test_doubling \
	tests/unit/policy/test_doubling_engine \
	tests/unit/policy/test_fairness \
	tests/unit/policy/test_pausing \
	tests/unit/policy/test_policy_contract
check_PROGRAMS += $(policy_tests)
TESTS += $(policy_tests)

tests_unit_policy_test_doubling_SOURCES = tests/unit/policy/test_doubling.cpp $(policy_test_support)
tests_unit_policy_test_doubling_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_policy_test_doubling_LDADD = libpolicy.la $(CHECK_LIBS)

tests_unit_policy_test_doubling_engine_SOURCES = tests/unit/policy/test_doubling_engine.cpp $(policy_test_support)
tests_unit_policy_test_doubling_engine_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_policy_test_doubling_engine_LDADD = libpolicy.la $(CHECK_LIBS)

tests_unit_policy_test_fairness_SOURCES = tests/unit/policy/test_fairness.cpp $(policy_test_support)
tests_unit_policy_test_fairness_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_policy_test_fairness_LDADD = libpolicy.la $(CHECK_LIBS)

tests_unit_policy_test_pausing_SOURCES = tests/unit/policy/test_pausing.cpp $(policy_test_support)
tests_unit_policy_test_pausing_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_policy_test_pausing_LDADD = libpolicy.la $(CHECK_LIBS)

tests_unit_policy_test_policy_contract_SOURCES = tests/unit/policy/test_policy_contract.cpp $(policy_test_support)
tests_unit_policy_test_policy_contract_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_policy_test_policy_contract_LDADD = libbaselines.la libpolicy.la $(CHECK_LIBS)

# An external policy, as a user would add it: its file, and its name in the list.
check_PROGRAMS += tests/unit/policy/test_own_policy
TESTS += tests/unit/policy/test_own_policy
tests_unit_policy_test_own_policy_SOURCES = tests/unit/policy/test_own_policy.cpp tests/unit/policy/equal_share.cpp \
	slurm_plugin/policy/policy_lookup.cpp $(policy_test_support)
tests_unit_policy_test_own_policy_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) \
	-D'RINGRT_POLICIES(X)=X(doubling) X(equal_share)'
tests_unit_policy_test_own_policy_LDADD = libcontroller.la $(CHECK_LIBS)

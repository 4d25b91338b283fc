# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of records, policy and controller: one program each, on the shipped objects.
world_tests = \
	tests/unit/test_explain \
	tests/unit/test_fence \
	tests/unit/test_model \
	tests/unit/test_pacing \
	tests/unit/test_reach \
	tests/unit/test_shared_limit \
	tests/unit/test_recovery \
	tests/unit/test_resize \
	tests/unit/test_stage \
	tests/unit/test_time_limit \
	tests/unit/test_user_wins \
	tests/unit/test_walk
core_tests = $(world_tests) tests/unit/test_records
check_PROGRAMS += $(core_tests)
TESTS += $(core_tests)

# A Slurm in virtual time, for the controller's tests
check_LTLIBRARIES += libfakecluster.la
libfakecluster_la_SOURCES = tests/support/agreeing.h tests/support/fake_cluster.cpp \
	tests/support/fake_cluster.h tests/support/happenings.h tests/support/world.h
libfakecluster_la_LIBADD = libcontroller.la libruntime.la libbase.la
world_cppflags = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
world_ldadd = libfakecluster.la $(CHECK_LIBS)

tests_unit_test_explain_SOURCES = tests/unit/test_explain.cpp tests/support/check.h
tests_unit_test_explain_CPPFLAGS = $(world_cppflags)
tests_unit_test_explain_LDADD = $(world_ldadd)

tests_unit_test_fence_SOURCES = tests/unit/test_fence.cpp tests/support/check.h
tests_unit_test_fence_CPPFLAGS = $(world_cppflags)
tests_unit_test_fence_LDADD = $(world_ldadd)

tests_unit_test_model_SOURCES = tests/unit/test_model.cpp tests/support/check.h
tests_unit_test_model_CPPFLAGS = $(world_cppflags)
tests_unit_test_model_LDADD = $(world_ldadd)

tests_unit_test_pacing_SOURCES = tests/unit/test_pacing.cpp tests/support/check.h
tests_unit_test_pacing_CPPFLAGS = $(world_cppflags)
tests_unit_test_pacing_LDADD = $(world_ldadd)

tests_unit_test_reach_SOURCES = tests/unit/test_reach.cpp tests/support/check.h
tests_unit_test_reach_CPPFLAGS = $(world_cppflags)
tests_unit_test_reach_LDADD = $(world_ldadd)

tests_unit_test_recovery_SOURCES = tests/unit/test_recovery.cpp tests/support/check.h
tests_unit_test_recovery_CPPFLAGS = $(world_cppflags)
tests_unit_test_recovery_LDADD = $(world_ldadd)

tests_unit_test_resize_SOURCES = tests/unit/test_resize.cpp tests/support/check.h
tests_unit_test_resize_CPPFLAGS = $(world_cppflags)
tests_unit_test_resize_LDADD = $(world_ldadd)

tests_unit_test_shared_limit_SOURCES = tests/unit/test_shared_limit.cpp tests/support/check.h
tests_unit_test_shared_limit_CPPFLAGS = $(world_cppflags)
tests_unit_test_shared_limit_LDADD = $(world_ldadd)

tests_unit_test_stage_SOURCES = tests/unit/test_stage.cpp tests/support/check.h
tests_unit_test_stage_CPPFLAGS = $(world_cppflags)
tests_unit_test_stage_LDADD = $(world_ldadd)

tests_unit_test_time_limit_SOURCES = tests/unit/test_time_limit.cpp tests/support/check.h
tests_unit_test_time_limit_CPPFLAGS = $(world_cppflags)
tests_unit_test_time_limit_LDADD = $(world_ldadd)

tests_unit_test_user_wins_SOURCES = tests/unit/test_user_wins.cpp tests/support/check.h
tests_unit_test_user_wins_CPPFLAGS = $(world_cppflags)
tests_unit_test_user_wins_LDADD = $(world_ldadd)

tests_unit_test_walk_SOURCES = tests/unit/test_walk.cpp tests/support/check.h
tests_unit_test_walk_CPPFLAGS = $(world_cppflags)
tests_unit_test_walk_LDADD = $(world_ldadd)

tests_unit_test_records_SOURCES = tests/unit/test_records.cpp tests/support/check.h
tests_unit_test_records_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_records_LDADD = librecords.la $(CHECK_LIBS)

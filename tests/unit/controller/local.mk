# SPDX-License-Identifier: BSD-3-Clause
# The controller on a Slurm in virtual time.
check_LTLIBRARIES += libfakecluster.la
libfakecluster_la_SOURCES = tests/support/agreeing.h tests/support/fake_cluster.cpp \
	tests/support/fake_cluster.h tests/support/fake_faults.cpp tests/support/fake_requests.cpp \
	tests/support/perturbations.h tests/support/world.h
libfakecluster_la_LIBADD = libslurmctld.la libruntime.la libbase.la
world_cppflags = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
world_ldadd = libfakecluster.la $(CHECK_LIBS)

# With the tests' own policy that pauses jobs beside the site's.
pausing_policy = tests/support/last_first.cpp slurm_plugin/policy/policy_lookup.cpp
pausing_cppflags = $(world_cppflags) -D'RINGRT_POLICIES(X)=X(doubling) X(last_first)'

controller_tests = \
	tests/unit/controller/test_applications \
	tests/unit/controller/test_array \
	tests/unit/controller/test_deferral \
	tests/unit/controller/test_explain \
	tests/unit/controller/test_extension \
	tests/unit/controller/test_fence \
	tests/unit/controller/test_lenders \
	tests/unit/controller/test_base_shrink \
	tests/unit/controller/test_live_resize \
	tests/unit/controller/test_model \
	tests/unit/controller/test_node_parts \
	tests/unit/controller/test_node_room \
	tests/unit/controller/test_pacing \
	tests/unit/controller/test_pausing \
	tests/unit/controller/test_probation \
	tests/unit/controller/test_reach \
	tests/unit/controller/test_recovery \
	tests/unit/controller/test_resize \
	tests/unit/controller/test_rigid_plan \
	tests/unit/controller/test_shared_limit \
	tests/unit/controller/test_stage \
	tests/unit/controller/test_time_limit \
	tests/unit/controller/test_user_wins \
	tests/unit/controller/test_walk
check_PROGRAMS += $(controller_tests)
TESTS += $(controller_tests)

tests_unit_controller_test_applications_SOURCES = tests/unit/controller/test_applications.cpp tests/support/check.h
tests_unit_controller_test_applications_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_applications_LDADD = $(world_ldadd)

tests_unit_controller_test_array_SOURCES = tests/unit/controller/test_array.cpp tests/support/check.h
tests_unit_controller_test_array_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_array_LDADD = $(world_ldadd)

tests_unit_controller_test_explain_SOURCES = tests/unit/controller/test_explain.cpp tests/support/check.h
tests_unit_controller_test_explain_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_explain_LDADD = $(world_ldadd)

tests_unit_controller_test_extension_SOURCES = tests/unit/controller/test_extension.cpp tests/support/check.h
tests_unit_controller_test_extension_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_extension_LDADD = $(world_ldadd)

tests_unit_controller_test_fence_SOURCES = tests/unit/controller/test_fence.cpp tests/support/check.h
tests_unit_controller_test_fence_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_fence_LDADD = $(world_ldadd)

tests_unit_controller_test_lenders_SOURCES = tests/unit/controller/test_lenders.cpp tests/support/check.h
tests_unit_controller_test_lenders_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_lenders_LDADD = $(world_ldadd)

tests_unit_controller_test_base_shrink_SOURCES = tests/unit/controller/test_base_shrink.cpp tests/support/check.h
tests_unit_controller_test_base_shrink_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_base_shrink_LDADD = $(world_ldadd)

tests_unit_controller_test_live_resize_SOURCES = tests/unit/controller/test_live_resize.cpp tests/support/check.h
tests_unit_controller_test_live_resize_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_live_resize_LDADD = $(world_ldadd)

tests_unit_controller_test_model_SOURCES = tests/unit/controller/test_model.cpp tests/support/check.h \
	$(pausing_policy)
tests_unit_controller_test_model_CPPFLAGS = $(pausing_cppflags)
tests_unit_controller_test_model_LDADD = $(world_ldadd)

tests_unit_controller_test_node_parts_SOURCES = tests/unit/controller/test_node_parts.cpp tests/support/check.h
tests_unit_controller_test_node_parts_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_node_parts_LDADD = $(world_ldadd)

tests_unit_controller_test_node_room_SOURCES = tests/unit/controller/test_node_room.cpp tests/support/check.h
tests_unit_controller_test_node_room_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_node_room_LDADD = $(world_ldadd)

tests_unit_controller_test_pacing_SOURCES = tests/unit/controller/test_pacing.cpp tests/support/check.h
tests_unit_controller_test_pacing_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_pacing_LDADD = $(world_ldadd)
tests_unit_controller_test_deferral_SOURCES = tests/unit/controller/test_deferral.cpp tests/support/check.h
tests_unit_controller_test_deferral_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_deferral_LDADD = $(world_ldadd)

tests_unit_controller_test_pausing_SOURCES = tests/unit/controller/test_pausing.cpp tests/support/check.h \
	$(pausing_policy)
tests_unit_controller_test_pausing_CPPFLAGS = $(pausing_cppflags)
tests_unit_controller_test_pausing_LDADD = $(world_ldadd)

tests_unit_controller_test_probation_SOURCES = tests/unit/controller/test_probation.cpp tests/support/check.h
tests_unit_controller_test_probation_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_probation_LDADD = $(world_ldadd)

tests_unit_controller_test_reach_SOURCES = tests/unit/controller/test_reach.cpp tests/support/check.h
tests_unit_controller_test_reach_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_reach_LDADD = $(world_ldadd)

tests_unit_controller_test_recovery_SOURCES = tests/unit/controller/test_recovery.cpp tests/support/check.h
tests_unit_controller_test_recovery_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_recovery_LDADD = $(world_ldadd)

tests_unit_controller_test_resize_SOURCES = tests/unit/controller/test_resize.cpp tests/support/check.h
tests_unit_controller_test_resize_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_resize_LDADD = $(world_ldadd)
tests_unit_controller_test_rigid_plan_SOURCES = tests/unit/controller/test_rigid_plan.cpp tests/support/check.h
tests_unit_controller_test_rigid_plan_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_rigid_plan_LDADD = $(world_ldadd)

tests_unit_controller_test_shared_limit_SOURCES = tests/unit/controller/test_shared_limit.cpp tests/support/check.h
tests_unit_controller_test_shared_limit_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_shared_limit_LDADD = $(world_ldadd)

tests_unit_controller_test_stage_SOURCES = tests/unit/controller/test_stage.cpp tests/support/check.h \
	$(pausing_policy)
tests_unit_controller_test_stage_CPPFLAGS = $(pausing_cppflags)
tests_unit_controller_test_stage_LDADD = $(world_ldadd)

tests_unit_controller_test_time_limit_SOURCES = tests/unit/controller/test_time_limit.cpp tests/support/check.h
tests_unit_controller_test_time_limit_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_time_limit_LDADD = $(world_ldadd)

tests_unit_controller_test_user_wins_SOURCES = tests/unit/controller/test_user_wins.cpp tests/support/check.h
tests_unit_controller_test_user_wins_CPPFLAGS = $(world_cppflags)
tests_unit_controller_test_user_wins_LDADD = $(world_ldadd)

tests_unit_controller_test_walk_SOURCES = tests/unit/controller/test_walk.cpp tests/support/check.h \
	$(pausing_policy)
tests_unit_controller_test_walk_CPPFLAGS = $(pausing_cppflags)
tests_unit_controller_test_walk_LDADD = $(world_ldadd)

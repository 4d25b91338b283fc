# SPDX-License-Identifier: BSD-3-Clause
# Checkpoints, on a file system in memory and on real files.
checkpoint_support = tests/support/check.h tests/support/checkpoint_model.h \
	tests/support/memory_files.h tests/support/thread_group.h

checkpoint_tests = \
	tests/unit/checkpoint/test_checkpoint \
	tests/unit/checkpoint/test_checkpoint_blocks \
	tests/unit/checkpoint/test_checkpoint_device \
	tests/unit/checkpoint/test_checkpoint_faults \
	tests/unit/checkpoint/test_checkpoint_hostile \
	tests/unit/checkpoint/test_checkpoint_incarnations \
	tests/unit/checkpoint/test_checkpoint_killed \
	tests/unit/checkpoint/test_checkpoint_levels \
	tests/unit/checkpoint/test_checkpoint_memory \
	tests/unit/checkpoint/test_workers
check_PROGRAMS += $(checkpoint_tests)
TESTS += $(checkpoint_tests)

tests_unit_checkpoint_test_checkpoint_SOURCES = tests/unit/checkpoint/test_checkpoint.cpp $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_checkpoint_test_checkpoint_blocks_SOURCES = tests/unit/checkpoint/test_checkpoint_blocks.cpp \
	tests/support/blocks.h $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_blocks_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_blocks_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

# Over a mock GPU
device_support = tests/support/blocks.h tests/support/device_model.h tests/support/fake_gpu.h tests/support/hidden_gpu.h
tests_unit_checkpoint_test_checkpoint_device_SOURCES = tests/unit/checkpoint/test_checkpoint_device.cpp \
	$(device_support) $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_device_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_device_LDADD = libruntime.la libcollective.la libbase.la $(CHECK_LIBS)

tests_unit_checkpoint_test_checkpoint_faults_SOURCES = tests/unit/checkpoint/test_checkpoint_faults.cpp $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_faults_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_faults_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_checkpoint_test_checkpoint_hostile_SOURCES = tests/unit/checkpoint/test_checkpoint_hostile.cpp \
	tests/support/directory.h $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_hostile_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_hostile_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_checkpoint_test_checkpoint_incarnations_SOURCES = tests/unit/checkpoint/test_checkpoint_incarnations.cpp $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_incarnations_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_incarnations_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_checkpoint_test_checkpoint_killed_SOURCES = tests/unit/checkpoint/test_checkpoint_killed.cpp $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_killed_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_killed_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_checkpoint_test_checkpoint_levels_SOURCES = tests/unit/checkpoint/test_checkpoint_levels.cpp $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_levels_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_levels_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_checkpoint_test_checkpoint_memory_SOURCES = tests/unit/checkpoint/test_checkpoint_memory.cpp $(checkpoint_support)
tests_unit_checkpoint_test_checkpoint_memory_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_checkpoint_memory_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_checkpoint_test_workers_SOURCES = tests/unit/checkpoint/test_workers.cpp \
	tests/support/scarce.h $(device_support) $(checkpoint_support)
tests_unit_checkpoint_test_workers_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_checkpoint_test_workers_LDADD = libruntime.la libcollective.la libbase.la $(CHECK_LIBS)

# Not a test: measures checkpoint speed. make tests/speed/checkpoint_speed
EXTRA_PROGRAMS += tests/speed/checkpoint_speed
tests_speed_checkpoint_speed_SOURCES = tests/speed/checkpoint_speed.cpp
tests_speed_checkpoint_speed_LDADD = libringrt.la libruntime.la libbase.la

# Not a test: measures loads to a mock GPU. make tests/speed/device_load
EXTRA_PROGRAMS += tests/speed/device_load
tests_speed_device_load_SOURCES = tests/speed/device_load.cpp tests/support/thread_group.h
tests_speed_device_load_LDADD = libruntime.la libbase.la

# SPDX-License-Identifier: BSD-3-Clause
# Tests of checkpoints, the batch, the C API and the step boundary.
runtime_tests = \
	tests/unit/test_checkpoint \
	tests/unit/test_checkpoint_faults \
	tests/unit/test_checkpoint_incarnations \
	tests/unit/test_checkpoint_memory \
	tests/unit/test_checkpoint_levels \
	tests/unit/test_checkpoint_killed \
	tests/unit/test_progress \
	tests/unit/test_runtime \
	tests/unit/test_channel \
	tests/unit/test_guard \
	tests/unit/test_ringrt_api \
	tests/unit/test_ringrt_limits \
	tests/unit/test_live_model \
	tests/multiproc/test_live \
	tests/multiproc/test_saver \
	tests/multiproc/test_step \
	tests/multiproc/test_step_channel
check_PROGRAMS += $(runtime_tests)
TESTS += $(runtime_tests)

checkpoint_support = tests/support/check.h tests/support/checkpoint_model.h \
	tests/support/memory_files.h tests/support/thread_group.h
tests_unit_test_checkpoint_SOURCES = tests/unit/test_checkpoint.cpp $(checkpoint_support)
tests_unit_test_checkpoint_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_checkpoint_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_checkpoint_levels_SOURCES = tests/unit/test_checkpoint_levels.cpp $(checkpoint_support)
tests_unit_test_checkpoint_levels_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_checkpoint_levels_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_checkpoint_faults_SOURCES = tests/unit/test_checkpoint_faults.cpp $(checkpoint_support)
tests_unit_test_checkpoint_faults_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_checkpoint_faults_LDADD = libruntime.la libbase.la $(CHECK_LIBS)
tests_unit_test_checkpoint_incarnations_SOURCES = tests/unit/test_checkpoint_incarnations.cpp $(checkpoint_support)
tests_unit_test_checkpoint_incarnations_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_checkpoint_incarnations_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_checkpoint_memory_SOURCES = tests/unit/test_checkpoint_memory.cpp $(checkpoint_support)
tests_unit_test_checkpoint_memory_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_checkpoint_memory_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_checkpoint_killed_SOURCES = tests/unit/test_checkpoint_killed.cpp $(checkpoint_support)
tests_unit_test_checkpoint_killed_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_checkpoint_killed_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_runtime_SOURCES = tests/unit/test_runtime.cpp tests/support/check.h
tests_unit_test_runtime_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_runtime_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_progress_SOURCES = tests/unit/test_progress.cpp tests/support/check.h
tests_unit_test_progress_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_progress_LDADD = libcontroller.la libruntime.la libbase.la $(CHECK_LIBS)

tests_unit_test_channel_SOURCES = tests/unit/test_channel.cpp tests/support/channel_service.h \
	tests/support/check.h tests/support/folder.h tests/support/ranks.h
tests_unit_test_channel_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_channel_LDADD = libruntime.la libchannel.la libbase.la $(CHECK_LIBS)

tests_unit_test_guard_SOURCES = tests/unit/test_guard.cpp tests/support/check.h
tests_unit_test_guard_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_guard_LDADD = libapi.la libruntime.la libgradients.la libcollective.la libbase.la $(CHECK_LIBS)

# Through the shared library, as programs use it
api_support = tests/support/alone.h tests/support/check.h tests/support/ranks.h
tests_unit_test_ringrt_api_SOURCES = tests/unit/test_ringrt_api.cpp $(api_support)
tests_unit_test_ringrt_api_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_ringrt_api_LDADD = libringrt.la $(CHECK_LIBS)

tests_unit_test_ringrt_limits_SOURCES = tests/unit/test_ringrt_limits.cpp $(api_support)
tests_unit_test_ringrt_limits_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_ringrt_limits_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_step_SOURCES = tests/multiproc/test_step.cpp tests/support/check.h \
	tests/support/folder.h tests/support/ranks.h tests/support/step_job.h
tests_multiproc_test_step_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_step_LDADD = libringrt.la librecords.la $(CHECK_LIBS)

tests_multiproc_test_step_channel_SOURCES = tests/multiproc/test_step_channel.cpp \
	tests/support/channel_service.h tests/support/check.h tests/support/folder.h tests/support/ranks.h \
	tests/support/step_job.h
tests_multiproc_test_step_channel_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_step_channel_LDADD = libringrt.la libchannel.la librecords.la $(CHECK_LIBS)

tests_multiproc_test_saver_SOURCES = tests/multiproc/test_saver.cpp $(api_support)
tests_multiproc_test_saver_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_saver_LDADD = libringrt.la $(CHECK_LIBS)

# Resizing in place: explored, and with real ranks
tests_unit_test_live_model_SOURCES = tests/unit/test_live_model.cpp tests/support/check.h \
	tests/support/live_world.h
tests_unit_test_live_model_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_live_model_LDADD = libruntime.la libbase.la $(CHECK_LIBS)

tests_multiproc_test_live_SOURCES = tests/multiproc/test_live.cpp tests/support/check.h \
	tests/support/folder.h tests/support/live_job.h tests/support/ranks.h
tests_multiproc_test_live_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_LDADD = libringrt.la $(CHECK_LIBS)

# Not a test: for how long training stands still. make live-gap
EXTRA_PROGRAMS += tests/speed/live_gap
tests_speed_live_gap_SOURCES = tests/speed/live_gap.cpp tests/support/folder.h tests/support/ranks.h
tests_speed_live_gap_LDADD = libringrt.la libbase.la
live-gap: tests/speed/live_gap
	tests/speed/live_gap 20 100 1
	tests/speed/live_gap 20 100 2
.PHONY: live-gap

# Not a test: how fast checkpoints are. make tests/speed/checkpoint_speed
EXTRA_PROGRAMS += tests/speed/checkpoint_speed
tests_speed_checkpoint_speed_SOURCES = tests/speed/checkpoint_speed.cpp
tests_speed_checkpoint_speed_LDADD = libringrt.la libruntime.la libbase.la

if HAVE_MPI
check_PROGRAMS += tests/multiproc/mpi_start
tests_multiproc_mpi_start_SOURCES = tests/multiproc/mpi_start.c
tests_multiproc_mpi_start_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/libringrt $(MPI_CFLAGS)
tests_multiproc_mpi_start_LDADD = libringrt.la $(MPI_LIBS)
check_PROGRAMS += tests/multiproc/mpi_sums
tests_multiproc_mpi_sums_SOURCES = tests/multiproc/mpi_sums.cpp
tests_multiproc_mpi_sums_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/libringrt $(MPI_CFLAGS)
tests_multiproc_mpi_sums_LDADD = libringrt.la $(MPI_LIBS)
endif
TESTS += tests/multiproc/mpi-start
TESTS += tests/multiproc/mpi-transport
EXTRA_DIST += tests/multiproc/mpi-start tests/multiproc/mpi-transport

# SPDX-License-Identifier: BSD-3-Clause
# Real ranks: forked processes on one host, over shared memory and TCP.
multiproc_headers = tests/support/check.h tests/support/ranks.h tests/multiproc/layout.h
multiproc_tests = \
	tests/multiproc/test_checkpoint_blobs \
	tests/multiproc/test_checkpoint_callbacks \
	tests/multiproc/test_checkpoint_handle \
	tests/multiproc/test_checkpoint_background \
	tests/multiproc/test_checkpoint_late \
	tests/multiproc/test_collectives \
	tests/multiproc/test_comm \
	tests/multiproc/test_comm_failures \
	tests/multiproc/test_comm_messages \
	tests/multiproc/test_operation_arguments \
	tests/multiproc/test_failures \
	tests/multiproc/test_gradients \
	tests/multiproc/test_grouping_rules \
	tests/multiproc/test_job_background \
	tests/multiproc/test_job_exchange \
	tests/multiproc/test_job_handle \
	tests/multiproc/test_job_live \
	tests/multiproc/test_job_refusals \
	tests/multiproc/test_large_world \
	tests/multiproc/test_live \
	tests/multiproc/test_live_copies \
	tests/multiproc/test_live_gradients \
	tests/multiproc/test_live_nodes \
	tests/multiproc/test_live_rows \
	tests/multiproc/test_live_scarce \
	tests/multiproc/test_live_settings \
	tests/multiproc/test_live_state \
	tests/multiproc/test_orders \
	tests/multiproc/test_save_memory \
	tests/multiproc/test_saver \
	tests/multiproc/test_step \
	tests/multiproc/test_step_channel \
	tests/multiproc/test_strangers
check_PROGRAMS += $(multiproc_tests)
TESTS += $(multiproc_tests)

tests_multiproc_test_collectives_SOURCES = tests/multiproc/test_collectives.cpp $(multiproc_headers)
tests_multiproc_test_collectives_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_collectives_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

comm_support = tests/multiproc/comm_ranks.h tests/multiproc/comm_values.h tests/support/check.h tests/support/directory.h tests/support/ranks.h
tests_multiproc_test_comm_SOURCES = tests/multiproc/test_comm.cpp $(comm_support)
tests_multiproc_test_comm_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_comm_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_comm_failures_SOURCES = tests/multiproc/test_comm_failures.cpp $(comm_support)
tests_multiproc_test_comm_failures_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_comm_failures_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_operation_arguments_SOURCES = tests/multiproc/test_operation_arguments.cpp $(comm_support)
tests_multiproc_test_operation_arguments_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_operation_arguments_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_comm_messages_SOURCES = tests/multiproc/test_comm_messages.cpp $(comm_support)
tests_multiproc_test_comm_messages_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_comm_messages_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_checkpoint_blobs_SOURCES = tests/multiproc/test_checkpoint_blobs.cpp \
	tests/multiproc/checkpoint_ranks.h tests/support/blocks.h $(comm_support)
tests_multiproc_test_checkpoint_blobs_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_checkpoint_blobs_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_checkpoint_callbacks_SOURCES = tests/multiproc/test_checkpoint_callbacks.cpp \
	tests/multiproc/checkpoint_ranks.h tests/support/blocks.h $(comm_support)
tests_multiproc_test_checkpoint_callbacks_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_checkpoint_callbacks_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_checkpoint_handle_SOURCES = tests/multiproc/test_checkpoint_handle.cpp \
	tests/multiproc/checkpoint_ranks.h tests/support/blocks.h $(comm_support)
tests_multiproc_test_checkpoint_handle_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_checkpoint_handle_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_checkpoint_background_SOURCES = tests/multiproc/test_checkpoint_background.cpp \
	tests/multiproc/checkpoint_ranks.h tests/support/blocks.h $(comm_support)
tests_multiproc_test_checkpoint_background_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_checkpoint_background_LDADD = libringrt.la $(CHECK_LIBS)
tests_multiproc_test_checkpoint_late_SOURCES = tests/multiproc/test_checkpoint_late.cpp \
	tests/multiproc/checkpoint_ranks.h tests/support/blocks.h $(comm_support)
tests_multiproc_test_checkpoint_late_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_checkpoint_late_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_failures_SOURCES = tests/multiproc/test_failures.cpp tests/multiproc/training.h \
	$(multiproc_headers)
tests_multiproc_test_failures_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_failures_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

tests_multiproc_test_gradients_SOURCES = tests/multiproc/test_gradients.cpp \
	tests/multiproc/gradient_training.h tests/unit/bucketing/bucketing_profiles.h $(multiproc_headers)
tests_multiproc_test_gradients_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_gradients_LDADD = libgradients.la libcollective.la libbase.la $(CHECK_LIBS)

tests_multiproc_test_grouping_rules_SOURCES = tests/multiproc/test_grouping_rules.cpp \
	tests/multiproc/gradient_training.h $(multiproc_headers)
tests_multiproc_test_grouping_rules_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_grouping_rules_LDADD = libapi.la libruntime.la libgradients.la libcollective.la \
	libbase.la $(CHECK_LIBS)

tests_multiproc_test_job_background_SOURCES = tests/multiproc/test_job_background.cpp tests/support/check.h \
	tests/support/directory.h tests/support/handle_job.h tests/support/ranks.h tests/support/step_job.h
tests_multiproc_test_job_background_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_job_background_LDADD = libringrt.la librecords.la $(CHECK_LIBS)

tests_multiproc_test_job_exchange_SOURCES = tests/multiproc/test_job_exchange.cpp tests/support/check.h \
	tests/support/directory.h tests/support/ranks.h tests/support/step_job.h
tests_multiproc_test_job_exchange_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_job_exchange_LDADD = libringrt.la librecords.la $(CHECK_LIBS)

tests_multiproc_test_job_handle_SOURCES = tests/multiproc/test_job_handle.cpp tests/support/check.h \
	tests/support/directory.h tests/support/handle_job.h tests/support/ranks.h tests/support/step_job.h
tests_multiproc_test_job_handle_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_job_handle_LDADD = libringrt.la librecords.la $(CHECK_LIBS)

tests_multiproc_test_job_live_SOURCES = tests/multiproc/test_job_live.cpp tests/support/live_blobs.h \
	tests/support/live_handles.h tests/support/scarce.h $(live_headers)
tests_multiproc_test_job_live_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_job_live_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_job_refusals_SOURCES = tests/multiproc/test_job_refusals.cpp \
	tests/multiproc/checkpoint_ranks.h tests/support/blocks.h $(comm_support)
tests_multiproc_test_job_refusals_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_job_refusals_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_large_world_SOURCES = tests/multiproc/test_large_world.cpp $(multiproc_headers)
tests_multiproc_test_large_world_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_large_world_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

live_headers = tests/support/check.h tests/support/directory.h tests/support/live_job.h \
	tests/support/live_test.h tests/support/ranks.h
tests_multiproc_test_live_SOURCES = tests/multiproc/test_live.cpp tests/support/message_fault.h $(live_headers)
tests_multiproc_test_live_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_live_copies_SOURCES = tests/multiproc/test_live_copies.cpp tests/support/live_rows.h \
	tests/support/message_fault.h $(live_headers)
tests_multiproc_test_live_copies_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_copies_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_live_gradients_SOURCES = tests/multiproc/test_live_gradients.cpp $(live_headers)
tests_multiproc_test_live_gradients_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_gradients_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_live_nodes_SOURCES = tests/multiproc/test_live_nodes.cpp \
	tests/support/channel_service.h tests/support/check.h tests/support/directory.h tests/support/live_blobs.h \
	tests/support/live_handles.h tests/support/live_job.h tests/support/live_rows.h tests/support/ranks.h
tests_multiproc_test_live_nodes_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_nodes_LDADD = libringrt.la libchannel.la librecords.la $(CHECK_LIBS)

tests_multiproc_test_live_rows_SOURCES = tests/multiproc/test_live_rows.cpp tests/support/live_rows.h \
	tests/support/message_fault.h $(live_headers)
tests_multiproc_test_live_rows_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_rows_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_live_settings_SOURCES = tests/multiproc/test_live_settings.cpp $(live_headers)
tests_multiproc_test_live_settings_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_settings_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_live_scarce_SOURCES = tests/multiproc/test_live_scarce.cpp tests/support/scarce.h \
	$(live_headers)
tests_multiproc_test_live_scarce_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_scarce_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_live_state_SOURCES = tests/multiproc/test_live_state.cpp $(live_headers)
tests_multiproc_test_live_state_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_state_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_orders_SOURCES = tests/multiproc/test_orders.cpp $(multiproc_headers)
tests_multiproc_test_orders_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_orders_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

tests_multiproc_test_save_memory_SOURCES = tests/multiproc/test_save_memory.cpp $(comm_support)
tests_multiproc_test_save_memory_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_save_memory_LDADD = libapi.la libruntime.la libgradients.la libcollective.la \
	libbase.la $(CHECK_LIBS)

tests_multiproc_test_saver_SOURCES = tests/multiproc/test_saver.cpp $(api_support)
tests_multiproc_test_saver_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_saver_LDADD = libringrt.la $(CHECK_LIBS)

tests_multiproc_test_step_SOURCES = tests/multiproc/test_step.cpp tests/support/check.h \
	tests/support/directory.h tests/support/ranks.h tests/support/step_job.h
tests_multiproc_test_step_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_step_LDADD = libringrt.la librecords.la $(CHECK_LIBS)

tests_multiproc_test_step_channel_SOURCES = tests/multiproc/test_step_channel.cpp \
	tests/support/channel_service.h tests/support/check.h tests/support/directory.h tests/support/ranks.h \
	tests/support/step_job.h
tests_multiproc_test_step_channel_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_step_channel_LDADD = libringrt.la libchannel.la librecords.la $(CHECK_LIBS)

tests_multiproc_test_strangers_SOURCES = tests/multiproc/test_strangers.cpp tests/multiproc/training.h \
	$(multiproc_headers)
tests_multiproc_test_strangers_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_strangers_LDADD = libcollective.la libbase.la $(CHECK_LIBS)

# Over a mock GPU; a real one: tests/gpu
check_PROGRAMS += tests/multiproc/test_device
TESTS += tests/multiproc/test_device
tests_multiproc_test_device_SOURCES = tests/multiproc/test_device.cpp tests/support/fake_gpu.h $(multiproc_headers)
tests_multiproc_test_device_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_device_LDADD = libcollective.la libbase.la $(CHECK_LIBS)
check_PROGRAMS += tests/multiproc/test_gpu_gradients
TESTS += tests/multiproc/test_gpu_gradients
tests_multiproc_test_gpu_gradients_SOURCES = tests/multiproc/test_gpu_gradients.cpp \
	tests/multiproc/gradient_training.h tests/support/fake_gpu.h $(multiproc_headers)
tests_multiproc_test_gpu_gradients_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_gpu_gradients_LDADD = libgradients.la libcollective.la libbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/multiproc/test_state_chunks
TESTS += tests/multiproc/test_state_chunks
tests_multiproc_test_state_chunks_SOURCES = tests/multiproc/test_state_chunks.cpp \
	tests/multiproc/training.h tests/support/fake_gpu.h tests/support/hidden_gpu.h $(multiproc_headers)
tests_multiproc_test_state_chunks_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_state_chunks_LDADD = libruntime.la libcollective.la libbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/multiproc/test_moving_rows
TESTS += tests/multiproc/test_moving_rows
tests_multiproc_test_moving_rows_SOURCES = tests/multiproc/test_moving_rows.cpp \
	tests/multiproc/training.h tests/support/fake_gpu.h tests/support/hidden_gpu.h $(multiproc_headers)
tests_multiproc_test_moving_rows_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_moving_rows_LDADD = libruntime.la libcollective.la libbase.la $(CHECK_LIBS)

# These define their own find_gpu(), linked before the library's.
check_PROGRAMS += tests/multiproc/test_comm_gpu
TESTS += tests/multiproc/test_comm_gpu
tests_multiproc_test_comm_gpu_SOURCES = tests/multiproc/test_comm_gpu.cpp tests/support/fake_gpu.h $(comm_support)
tests_multiproc_test_comm_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_comm_gpu_LDADD = libapi.la libruntime.la libgradients.la libcollective.la libbase.la $(CHECK_LIBS)
check_PROGRAMS += tests/multiproc/test_gpu_order
TESTS += tests/multiproc/test_gpu_order
tests_multiproc_test_gpu_order_SOURCES = tests/multiproc/test_gpu_order.cpp tests/support/alone.h \
	tests/support/check.h tests/support/fake_gpu.h tests/support/ranks.h
tests_multiproc_test_gpu_order_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_gpu_order_LDADD = libapi.la libruntime.la libgradients.la libcollective.la \
	libbase.la $(CHECK_LIBS)
check_PROGRAMS += tests/multiproc/test_gpu_training
TESTS += tests/multiproc/test_gpu_training
tests_multiproc_test_gpu_training_SOURCES = tests/multiproc/test_gpu_training.cpp tests/support/check.h \
	tests/support/fake_gpu.h tests/support/directory.h tests/support/hidden_gpu.h tests/support/ranks.h \
	tests/support/step_job.h
tests_multiproc_test_gpu_training_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_gpu_training_LDADD = libapi.la libruntime.la libgradients.la libcollective.la \
	libbase.la $(CHECK_LIBS)
check_PROGRAMS += tests/multiproc/test_live_gpu
TESTS += tests/multiproc/test_live_gpu
tests_multiproc_test_live_gpu_SOURCES = tests/multiproc/test_live_gpu.cpp tests/support/fake_gpu.h \
	tests/support/hidden_gpu.h tests/support/live_rows.h $(live_headers)
tests_multiproc_test_live_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_gpu_LDADD = libapi.la libruntime.la libgradients.la libcollective.la \
	libbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/multiproc/test_live_gpu_gradients
TESTS += tests/multiproc/test_live_gpu_gradients
tests_multiproc_test_live_gpu_gradients_SOURCES = tests/multiproc/test_live_gpu_gradients.cpp \
	tests/support/fake_gpu.h $(live_headers)
tests_multiproc_test_live_gpu_gradients_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_gpu_gradients_LDADD = libapi.la libruntime.la libgradients.la libcollective.la \
	libbase.la $(CHECK_LIBS)

check_PROGRAMS += tests/multiproc/test_live_nccl
TESTS += tests/multiproc/test_live_nccl
tests_multiproc_test_live_nccl_SOURCES = tests/multiproc/test_live_nccl.cpp tests/support/channel_service.h \
	tests/support/fake_gpu.h $(live_headers)
tests_multiproc_test_live_nccl_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_multiproc_test_live_nccl_LDADD = libapi.la libruntime.la libgradients.la libcollective.la \
	libchannel.la librecords.la libbase.la $(CHECK_LIBS)

# More than 2 GiB: needs 5 GiB of memory, so only "make check-large" runs it.
EXTRA_PROGRAMS += tests/multiproc/test_large
tests_multiproc_test_large_SOURCES = tests/multiproc/test_large.cpp tests/support/ranks.h tests/multiproc/layout.h
tests_multiproc_test_large_LDADD = libcollective.la libbase.la
check-large: tests/multiproc/test_large
	tests/multiproc/test_large
.PHONY: check-large

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

# Not a test: measures worlds of many ranks. make large-world
EXTRA_PROGRAMS += tests/speed/large_world
tests_speed_large_world_SOURCES = tests/speed/large_world.cpp tests/support/directory.h tests/support/ranks.h
tests_speed_large_world_LDADD = libcollective.la libbase.la
large-world: tests/speed/large_world
	for ranks in 64 256 512 1024 2048 4096; do for node in 1 8 64; do \
		tests/speed/large_world $$ranks $$node || exit; done; done
.PHONY: large-world

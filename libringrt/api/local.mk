# SPDX-License-Identifier: BSD-3-Clause
# The C API as its own library, for tests that also look inside
libapi_la_SOURCES += \
	libringrt/api/checkpoint.cpp \
	libringrt/api/checkpoint.h \
	libringrt/api/checkpoint_state.cpp \
	libringrt/api/collectives.cpp \
	libringrt/api/comm.cpp \
	libringrt/api/comm.h \
	libringrt/api/comm_config.cpp \
	libringrt/api/comm_messages.cpp \
	libringrt/api/comm_operation.h \
	libringrt/api/comm_operations.cpp \
	libringrt/api/comm_split.cpp \
	libringrt/api/communicator_group.h \
	libringrt/api/gradients.cpp \
	libringrt/api/guard.h \
	libringrt/api/handle.cpp \
	libringrt/api/handle.h \
	libringrt/api/job.cpp \
	libringrt/api/job.h \
	libringrt/api/job_resize.cpp \
	libringrt/api/job_step.cpp \
	libringrt/api/operation_checks.cpp \
	libringrt/api/operation_checks.h \
	libringrt/api/registered.cpp \
	libringrt/api/registered.h \
	libringrt/api/request.cpp \
	libringrt/api/request.h \
	libringrt/api/sent_blobs.cpp \
	libringrt/api/sent_blobs.h \
	libringrt/api/training.cpp

# SPDX-License-Identifier: BSD-3-Clause
# Sums gradients while the backward pass runs, following the plans of bucketing
libgradients_la_SOURCES += \
	libringrt/gradients/gradient_reducer.cpp \
	libringrt/gradients/gradient_reducer.h \
	libringrt/gradients/gpu_calls.cpp \
	libringrt/gradients/gpu_calls.h \
	libringrt/gradients/gpu_step.cpp \
	libringrt/gradients/gpu_step.h \
	libringrt/gradients/learned.cpp \
	libringrt/gradients/learned.h \
	libringrt/gradients/learner.cpp \
	libringrt/gradients/learner.h \
	libringrt/gradients/packed_plan.cpp \
	libringrt/gradients/packed_plan.h \
	libringrt/gradients/profile_file.cpp \
	libringrt/gradients/profile_file.h \
	libringrt/gradients/reducer_plan.cpp \
	libringrt/gradients/reducer_step.cpp \
	libringrt/gradients/step_profiler.cpp \
	libringrt/gradients/step_profiler.h \
	libringrt/gradients/trace.cpp \
	libringrt/gradients/trace.h \
	libringrt/gradients/transfer_layout.cpp \
	libringrt/gradients/transfer_layout.h

# SPDX-License-Identifier: BSD-3-Clause
# Slurm integration of a job: settings, the step boundary, reports
libruntime_la_SOURCES += \
	libringrt/job/batch.cpp \
	libringrt/job/batch.h \
	libringrt/job/channel.cpp \
	libringrt/job/channel.h \
	libringrt/job/job.cpp \
	libringrt/job/job.h \
	libringrt/job/live_step.cpp \
	libringrt/job/live_step.h \
	libringrt/job/loss_curve.cpp \
	libringrt/job/loss_curve.h \
	libringrt/job/progress.cpp \
	libringrt/job/progress.h \
	libringrt/job/reporter.cpp \
	libringrt/job/reporter.h \
	libringrt/job/requeue.cpp \
	libringrt/job/requeue.h \
	libringrt/job/save_state.h \
	libringrt/job/settings.cpp \
	libringrt/job/settings.h \
	libringrt/job/signal_watch.cpp \
	libringrt/job/signal_watch.h \
	libringrt/job/slurm_link.cpp \
	libringrt/job/slurm_link.h \
	libringrt/job/step.cpp \
	libringrt/job/step.h \
	libringrt/job/step_clock.cpp \
	libringrt/job/step_clock.h \
	libringrt/job/step_resize.cpp \
	libringrt/job/step_vote.h

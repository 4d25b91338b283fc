# SPDX-License-Identifier: BSD-3-Clause
# Slurm's plugins. They do not link libslurm: the daemon that loads them has Slurm's symbols.
if HAVE_SLURM

slurm_module_ldflags = -module -avoid-version -shared -export-dynamic
slurm_cppflags = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)

slurmplugin_LTLIBRARIES = malleable.la job_submit_malleable.la

malleable_la_SOURCES = \
	slurm_plugin/slurm/slurm_compat.h \
	slurm_plugin/slurm/spank_contexts.h \
	slurm_plugin/slurm/spank_malleable.cpp \
	slurm_plugin/slurm/spank_step.cpp \
	slurm_plugin/slurm/spank_submit.cpp
malleable_la_CPPFLAGS = $(slurm_cppflags)
malleable_la_LDFLAGS = $(slurm_module_ldflags)
malleable_la_LIBADD = librecords.la

job_submit_malleable_la_SOURCES = \
	slurm_plugin/slurm/gpu_tres.cpp slurm_plugin/slurm/gpu_tres.h \
	slurm_plugin/slurm/job_submit_malleable.cpp \
	slurm_plugin/slurm/sched_view.h \
	slurm_plugin/slurm/slurm_compat.h \
	slurm_plugin/slurm/submit_check.cpp slurm_plugin/slurm/submit_check.h
job_submit_malleable_la_CPPFLAGS = $(slurm_cppflags)
job_submit_malleable_la_LDFLAGS = $(slurm_module_ldflags)
job_submit_malleable_la_LIBADD = librecords.la

endif HAVE_SLURM

EXTRA_DIST += contrib/packaging/plugstack.conf

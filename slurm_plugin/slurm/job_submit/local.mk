# SPDX-License-Identifier: BSD-3-Clause

slurmplugin_LTLIBRARIES += job_submit_malleable.la

job_submit_malleable_la_SOURCES = \
	slurm_plugin/slurm/host/facts_file.cpp slurm_plugin/slurm/host/facts_file.h \
	slurm_plugin/slurm/cluster/gpu_tres.cpp slurm_plugin/slurm/cluster/gpu_tres.h \
	slurm_plugin/slurm/job_submit/job_submit_malleable.cpp \
	slurm_plugin/slurm/host/sched_view.h \
	slurm_plugin/slurm/slurm_compat.h \
	slurm_plugin/slurm/job_submit/start_size.cpp slurm_plugin/slurm/job_submit/start_size.h \
	slurm_plugin/slurm/job_submit/submit_check.cpp slurm_plugin/slurm/job_submit/submit_check.h
job_submit_malleable_la_CPPFLAGS = $(slurm_cppflags)
job_submit_malleable_la_LDFLAGS = $(slurm_module_ldflags)
job_submit_malleable_la_LIBADD = librecords.la

# SPDX-License-Identifier: BSD-3-Clause

# Programs that link libslurm use it as well, so it must use no symbol that only slurmctld has. A module takes
# a whole convenience library, so none here contains another: link libcontroller.la in addition.
noinst_LTLIBRARIES += libslurmcluster.la
libslurmcluster_la_SOURCES = \
	slurm_plugin/slurm/cluster/allowed_size.cpp slurm_plugin/slurm/cluster/allowed_size.h \
	slurm_plugin/slurm/cluster/api_times.h \
	slurm_plugin/slurm/cluster/job_arrays.cpp slurm_plugin/slurm/cluster/job_arrays.h \
	slurm_plugin/slurm/cluster/gpu_tres.cpp slurm_plugin/slurm/cluster/gpu_tres.h \
	slurm_plugin/slurm/cluster/listed_amounts.h \
	slurm_plugin/slurm/cluster/reservations.cpp slurm_plugin/slurm/cluster/reservations.h \
	slurm_plugin/slurm/cluster/slurm_cluster.cpp slurm_plugin/slurm/cluster/slurm_cluster.h \
	slurm_plugin/slurm/base/directory_of.h \
	slurm_plugin/slurm/base/loaded_job.h \
	slurm_plugin/slurm/slurm_compat.h \
	slurm_plugin/slurm/cluster/shared_limits.cpp slurm_plugin/slurm/cluster/shared_limits.h \
	slurm_plugin/slurm/cluster/slurm_extension.cpp \
	slurm_plugin/slurm/cluster/slurm_lists.h slurm_plugin/slurm/cluster/slurm_mails.h \
	slurm_plugin/slurm/cluster/slurm_memory.h \
	slurm_plugin/slurm/cluster/slurm_nodes.cpp \
	slurm_plugin/slurm/cluster/slurm_shares.cpp slurm_plugin/slurm/cluster/slurm_shares.h \
	slurm_plugin/slurm/cluster/pending_reason.cpp slurm_plugin/slurm/cluster/pending_reason.h \
	slurm_plugin/slurm/cluster/slurm_records.cpp slurm_plugin/slurm/cluster/slurm_records.h \
	slurm_plugin/slurm/cluster/slurm_runs.cpp slurm_plugin/slurm/cluster/slurm_updates.cpp
libslurmcluster_la_CPPFLAGS = $(slurm_cppflags)

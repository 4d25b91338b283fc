# SPDX-License-Identifier: BSD-3-Clause

slurmplugin_LTLIBRARIES += malleable.la

malleable_la_SOURCES = \
	slurm_plugin/slurm/spank/beside_tasks.cpp slurm_plugin/slurm/spank/beside_tasks.h \
	slurm_plugin/slurm/slurm_compat.h \
	slurm_plugin/slurm/spank/spank_notice.cpp \
	slurm_plugin/slurm/spank/spank_channel.cpp \
	slurm_plugin/slurm/spank/sbatch_flags.h slurm_plugin/slurm/spank/spank_contexts.h \
	slurm_plugin/slurm/spank/spank_malleable.cpp \
	slurm_plugin/slurm/spank/spank_record.cpp \
	slurm_plugin/slurm/spank/spank_step.cpp \
	slurm_plugin/slurm/spank/spank_submit.cpp \
	slurm_plugin/slurm/spank/srun_record.cpp slurm_plugin/slurm/spank/srun_record.h \
	slurm_plugin/slurm/spank/step_variables.cpp slurm_plugin/slurm/spank/step_variables.h
malleable_la_CPPFLAGS = $(slurm_cppflags)
malleable_la_LDFLAGS = $(slurm_module_ldflags)
malleable_la_LIBADD = libchannel.la librecords.la

# SPDX-License-Identifier: BSD-3-Clause
# The simulator as a library, which ringsim, ringfit and the tests link; slurmctld never does. libslurmctld
# simulates slurmctld, for the controller's tests as well
noinst_LTLIBRARIES += libslurmctld.la
libslurmctld_la_SOURCES = sim/slurm/slurmctld.cpp sim/slurm/slurmctld.h
libslurmctld_la_LIBADD = libbaselines.la libcontroller.la

if HAVE_TOOL_HEADERS
noinst_LTLIBRARIES += libsim.la
libsim_la_SOURCES = \
	sim/workload/batch_choice.h sim/workload/csv.cpp sim/workload/csv.h \
	sim/workload/pollux_profile.cpp sim/workload/profile.cpp sim/workload/profile.h \
	sim/workload/read_elasticflow.cpp sim/workload/read_history.cpp \
	sim/workload/read_pollux.cpp sim/workload/read_workload.cpp sim/workload/workload.h \
	sim/engine/engine.cpp sim/engine/engine.h sim/engine/fairness.cpp sim/engine/gradients.h \
	sim/engine/learned.cpp \
	sim/engine/gpu_types.cpp sim/engine/oracle.cpp sim/engine/placer.cpp sim/engine/placer.h \
	sim/engine/pool.cpp sim/engine/pool.h \
	sim/engine/policy_spec.cpp sim/engine/policy_spec.h sim/engine/processor_time.h \
	sim/engine/training.h \
	sim/slurm/plugin_run.cpp sim/slurm/plugin_run.h sim/slurm/program.h \
	sim/slurm/queue.cpp sim/slurm/sim_cluster.cpp sim/slurm/sim_cluster.h
libsim_la_CPPFLAGS = $(AM_CPPFLAGS)
libsim_la_LIBADD = libslurmctld.la
sim_slurm = \
	sim/slurm/scenario.cpp sim/slurm/scenario.h \
	sim/slurm/yaml_tree.cpp sim/slurm/yaml_tree.h
if HAVE_YAML
libsim_la_SOURCES += $(sim_slurm)
libsim_la_CPPFLAGS += $(YAML_CFLAGS)
libsim_la_LIBADD += $(YAML_LIBS)
else
EXTRA_DIST += $(sim_slurm)
endif
endif

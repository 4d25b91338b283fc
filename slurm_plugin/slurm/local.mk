# SPDX-License-Identifier: BSD-3-Clause
# Slurm's plugins. They do not link libslurm: they use the symbols of the daemon that loads them.
if HAVE_SLURM

slurm_module_ldflags = -module -avoid-version -shared -export-dynamic
slurm_cppflags = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
slurmplugin_LTLIBRARIES =

include slurm_plugin/slurm/spank/local.mk
include slurm_plugin/slurm/job_submit/local.mk
include slurm_plugin/slurm/cluster/local.mk

if HAVE_YAML
include slurm_plugin/slurm/host/local.mk
include slurm_plugin/slurm/sched/local.mk
include slurm_plugin/slurm/ringrtd/local.mk
endif HAVE_YAML

endif HAVE_SLURM

EXTRA_DIST += contrib/packaging/ringrtd.service contrib/packaging/ringrtd.sysconfig doc/hosts.md

EXTRA_DIST += doc/leaving.md
dist_man_MANS += man/malleable.1 man/malleable.yaml.5 man/sched_doubling.8 man/ringrtd.8

# SPDX-License-Identifier: BSD-3-Clause
# ringrt-check, and the packages (those as root, in a root folder of their own: see tests/packages)
if HAVE_SLURM
if HAVE_YAML
TESTS += tests/ringrt-check-cli tests/slurm-update
endif
endif
EXTRA_DIST += tests/ringrt-check-cli tests/slurm-update tests/packages tests/services

# SPDX-License-Identifier: BSD-3-Clause
# ringrt-check, and the packages (the latter as root in a separate chroot: see tests/packages)
if HAVE_SLURM
if HAVE_YAML
TESTS += tests/ringrt-check-cli tests/slurm-update
endif
endif
EXTRA_DIST += tests/ringrt-check-cli tests/slurm-update tests/packages tests/services

# SPDX-License-Identifier: BSD-3-Clause

# A private cluster for the demo and the tests, and the packages they need
EXTRA_DIST += contrib/cluster contrib/packages

# The README's two commands
EXTRA_DIST += contrib/test

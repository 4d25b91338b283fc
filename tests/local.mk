# SPDX-License-Identifier: BSD-3-Clause
TESTS += tests/check-includes
EXTRA_DIST += tests/check-includes

if HAVE_CHECK
include tests/unit/core.mk
endif

# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += libringrt/collective/communicator.h

# SPDX-License-Identifier: BSD-3-Clause
dist_man_MANS += man/ringrt-messages.7

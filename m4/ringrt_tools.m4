# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_TOOL_HEADERS: CLI11 and nlohmann-json, header-only; the command-line tools need both.
AC_DEFUN([RINGRT_TOOL_HEADERS], [
  have_tool_headers=yes
  AC_CHECK_HEADER([CLI/CLI.hpp], [], [have_tool_headers=no])
  AC_CHECK_HEADER([nlohmann/json.hpp], [], [have_tool_headers=no])
  AM_CONDITIONAL([HAVE_TOOL_HEADERS], [test "x$have_tool_headers" = xyes])
])

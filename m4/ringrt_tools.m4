# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_HAS_HEADER(HEADER, FOUND, NOT_FOUND): searches the compiler's directories and compiles nothing.
# AC_CHECK_HEADER takes seconds for a header-only library.
AC_DEFUN([RINGRT_HAS_HEADER], [
  AC_CACHE_CHECK([for $1], [AS_TR_SH([ac_cv_header_$1])],
    [AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#if !__has_include(<$1>)
#error
#endif]])], [AS_TR_SH([ac_cv_header_$1])=yes], [AS_TR_SH([ac_cv_header_$1])=no])])
  AS_IF([test "x$AS_TR_SH([ac_cv_header_$1])" = xyes], [$2], [$3])
])

# RINGRT_TOOL_HEADERS: CLI11 and nlohmann-json, header-only; the command-line tools need both.
AC_DEFUN([RINGRT_TOOL_HEADERS], [
  have_tool_headers=yes
  RINGRT_HAS_HEADER([CLI/CLI.hpp], [], [have_tool_headers=no])
  RINGRT_HAS_HEADER([nlohmann/json.hpp], [], [have_tool_headers=no])
  AM_CONDITIONAL([HAVE_TOOL_HEADERS], [test "x$have_tool_headers" = xyes])
])

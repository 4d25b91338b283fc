# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_LIB_CHECK: the Check unit test framework. Sets HAVE_CHECK, CHECK_CFLAGS, CHECK_LIBS.
AC_DEFUN([RINGRT_LIB_CHECK], [
  AC_ARG_WITH([check], [AS_HELP_STRING([--without-check], [do not build the unit tests])], [], [with_check=check])
  have_check=no
  AS_IF([test "x$with_check" != xno],
    [PKG_CHECK_MODULES([CHECK], [check >= 0.12], [have_check=yes],
      [AS_IF([test "x$with_check" = xyes], [AC_MSG_ERROR([Check was not found])])])])
  AM_CONDITIONAL([HAVE_CHECK], [test "x$have_check" = xyes])
])

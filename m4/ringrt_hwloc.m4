# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_LIB_HWLOC: hwloc, which locates cores and devices. Sets HAVE_HWLOC, HWLOC_CFLAGS, HWLOC_LIBS.
AC_DEFUN([RINGRT_LIB_HWLOC], [
  AC_ARG_WITH([hwloc], [AS_HELP_STRING([--without-hwloc], [do not use hwloc])], [], [with_hwloc=check])
  have_hwloc=no
  AS_IF([test "x$with_hwloc" != xno],
    [PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [have_hwloc=yes],
      [AS_IF([test "x$with_hwloc" = xyes], [AC_MSG_ERROR([hwloc was not found])])])])
  AS_IF([test "x$have_hwloc" = xyes], [AC_DEFINE([HAVE_HWLOC], [1], [hwloc is there])])
  AM_CONDITIONAL([HAVE_HWLOC], [test "x$have_hwloc" = xyes])
])

# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_LIB_YAML: libyaml, which reads malleable.yaml. Sets HAVE_YAML, YAML_CFLAGS, YAML_LIBS.
AC_DEFUN([RINGRT_LIB_YAML], [
  AC_ARG_WITH([yaml], [AS_HELP_STRING([--without-yaml], [do not use libyaml])], [], [with_yaml=check])
  have_yaml=no
  AS_IF([test "x$with_yaml" != xno],
    [PKG_CHECK_MODULES([YAML], [yaml-0.1 >= 0.2], [have_yaml=yes],
      [AS_IF([test "x$with_yaml" = xyes], [AC_MSG_ERROR([libyaml was not found])])])])
  AM_CONDITIONAL([HAVE_YAML], [test "x$have_yaml" = xyes])
])

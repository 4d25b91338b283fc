# SPDX-License-Identifier: BSD-3-Clause
# --enable-python[=PYTHON]: `make install` also installs the Python package, with libringrt in it. Needs pip, setuptools and
# wheel in that Python.
AC_DEFUN([RINGRT_PYTHON], [
  AC_ARG_ENABLE([python],
    [AS_HELP_STRING([--enable-python@<:@=PYTHON@:>@], [install the Python package too, for this Python (default: no; python3)])],
    [], [enable_python=no])
  AC_ARG_VAR([PYTHONDIR], [directory of the Python package (default: the site-packages of that Python below the prefix)])
  PYTHON=python3
  AS_CASE([$enable_python], [no | yes], [], [PYTHON=$enable_python])
  AS_IF([test "x$enable_python" != xno], [
    AC_MSG_CHECKING([for pip, setuptools and wheel in $PYTHON])
    AS_IF([$PYTHON -c 'import pip, setuptools, wheel' 2>&AS_MESSAGE_LOG_FD], [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([--enable-python needs pip, setuptools and wheel in $PYTHON])])
    AS_IF([test "x$have_xxhash" != xyes], [AC_MSG_ERROR([--enable-python needs libringrt, which needs xxhash.h])])])
  AC_SUBST([PYTHON])
  AM_CONDITIONAL([ENABLE_PYTHON], [test "x$enable_python" != xno])
])

# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_BENCH: the libraries that ringbench can compare with ringrt: Open MPI and MPICH side by side, under
# the wrapper names of Debian and others, and Gloo. Sets HAVE_OPENMPI, OPENMPI_CFLAGS, OPENMPI_LIBS, the same
# for MPICH, and HAVE_GLOO.
AC_DEFUN([RINGRT_BENCH], [
  AC_ARG_WITH([bench-peers],
    [AS_HELP_STRING([--without-bench-peers], [do not build ringbench's workers for other libraries])],
    [], [with_bench_peers=yes])
  AS_IF([test "x$with_bench_peers" = xno],
    [ac_cv_path_OPENMPI_CC= ac_cv_path_MPICH_CC= ac_cv_header_gloo_allreduce_h=no])
  AC_PATH_PROG([OPENMPI_CC], [mpicc.openmpi])
  have_openmpi=no OPENMPI_CFLAGS= OPENMPI_LIBS=
  AS_IF([test -n "$OPENMPI_CC"], [
    OPENMPI_CFLAGS="`$OPENMPI_CC --showme:compile 2>/dev/null | sed 's/ *-I/ -isystem /g'` -DOMPI_SKIP_MPICXX"
    OPENMPI_LIBS=`$OPENMPI_CC --showme:link 2>/dev/null`
    AS_IF([test -n "$OPENMPI_LIBS"], [have_openmpi=yes])])
  AC_PATH_PROG([MPICH_CC], [mpicc.mpich])
  have_mpich=no MPICH_CFLAGS= MPICH_LIBS=
  AS_IF([test -n "$MPICH_CC"], [
    MPICH_CFLAGS="`$MPICH_CC -show 2>/dev/null | tr ' ' '\n' | grep '^-I' | sed 's/^-I/-isystem /' | tr '\n' ' '` -DMPICH_SKIP_MPICXX"
    MPICH_LIBS=`$MPICH_CC -show 2>/dev/null | tr ' ' '\n' | grep '^-@<:@LlW@:>@' | tr '\n' ' '`
    AS_IF([test -n "$MPICH_LIBS"], [have_mpich=yes])])
  RINGRT_HAS_HEADER([gloo/allreduce.h], [have_gloo=yes], [have_gloo=no])
  AC_SUBST([OPENMPI_CFLAGS])
  AC_SUBST([OPENMPI_LIBS])
  AC_SUBST([MPICH_CFLAGS])
  AC_SUBST([MPICH_LIBS])
  AM_CONDITIONAL([HAVE_OPENMPI], [test "x$have_openmpi" = xyes])
  AM_CONDITIONAL([HAVE_MPICH], [test "x$have_mpich" = xyes])
  AM_CONDITIONAL([HAVE_GLOO], [test "x$have_gloo" = xyes])
])

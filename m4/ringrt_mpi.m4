# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_LIB_MPI: an MPI, found through its compiler wrapper. libringrt itself never links MPI: a program with
# MPI passes its communicator (ringrt_mpi.h). Only tests and benchmarks link it. Sets HAVE_MPI, MPI_CFLAGS,
# MPI_LIBS, MPIEXEC.
AC_DEFUN([RINGRT_LIB_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=MPICC], [the MPI C compiler wrapper (default: mpicc)])],
    [], [with_mpi=check])
  have_mpi=no MPI_CFLAGS= MPI_LIBS=
  AS_IF([test "x$with_mpi" != xno], [
    AS_CASE([$with_mpi], [check|yes], [AC_PATH_PROG([MPICC], [mpicc])], [MPICC="$with_mpi"])
    AS_IF([test -n "$MPICC"], [
      MPI_CFLAGS=`$MPICC --showme:compile 2>/dev/null || $MPICC -compile_info 2>/dev/null | tr ' ' '\n' | grep '^-@<:@ID@:>@' | tr '\n' ' '`
      MPI_LIBS=`$MPICC --showme:link 2>/dev/null || $MPICC -link_info 2>/dev/null | tr ' ' '\n' | grep '^-@<:@LlW@:>@' | tr '\n' ' '`
      ringrt_save_CPPFLAGS="$CPPFLAGS"
      CPPFLAGS="$CPPFLAGS $MPI_CFLAGS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX"
      AC_CHECK_HEADER([mpi.h], [have_mpi=yes])
      CPPFLAGS="$ringrt_save_CPPFLAGS"
      MPI_CFLAGS="`echo " $MPI_CFLAGS" | sed 's/ -I/ -isystem /g'` -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX"
    ])
    AS_IF([test "x$have_mpi" = xno && test "x$with_mpi" != xcheck], [AC_MSG_ERROR([MPI was not found])])
    AC_PATH_PROG([MPIEXEC], [mpiexec])
  ])
  AC_SUBST([MPI_CFLAGS])
  AC_SUBST([MPI_LIBS])
  AM_CONDITIONAL([HAVE_MPI], [test "x$have_mpi" = xyes])
])

# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_LIB_NCCL: the CUDA Toolkit and NCCL, both or neither. libringrt uses only their headers, and opens
# the libraries when a buffer is in GPU memory. The tests link them. Sets HAVE_NCCL, NCCL_CPPFLAGS, NCCL_LIBS,
# NVCC.
AC_DEFUN([RINGRT_LIB_NCCL], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR], [CUDA Toolkit (default: /usr/local/cuda)])],
    [], [with_cuda=check])
  AC_ARG_WITH([nccl], [AS_HELP_STRING([--with-nccl=DIR], [NCCL (default: inside the CUDA Toolkit or the system)])],
    [], [with_nccl=check])
  have_nccl=no NCCL_CPPFLAGS= NCCL_LIBS=
  AS_IF([test "x$with_cuda" != xno && test "x$with_nccl" != xno], [
    AS_CASE([$with_cuda], [check|yes], [ringrt_cuda=/usr/local/cuda], [ringrt_cuda="$with_cuda"])
    AS_IF([test -d "$ringrt_cuda/include"],
      [NCCL_CPPFLAGS="-isystem $ringrt_cuda/include"
       AS_IF([test -d "$ringrt_cuda/lib64"], [NCCL_LIBS="-L$ringrt_cuda/lib64"], [NCCL_LIBS="-L$ringrt_cuda/lib"])])
    AS_CASE([$with_nccl], [check|yes], [],
      [NCCL_CPPFLAGS="-isystem $with_nccl/include $NCCL_CPPFLAGS"; NCCL_LIBS="-L$with_nccl/lib $NCCL_LIBS"])
    ringrt_save_CPPFLAGS="$CPPFLAGS" ringrt_save_LIBS="$LIBS"
    CPPFLAGS="$CPPFLAGS $NCCL_CPPFLAGS"
    LIBS="$NCCL_LIBS -lnccl -lcudart $LIBS"
    AC_MSG_CHECKING([for NCCL and the CUDA runtime])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cuda_runtime_api.h>
#include <nccl.h>]], [[int version; return ncclGetVersion(&version) + cudaDeviceSynchronize();]])],
      [have_nccl=yes; NCCL_LIBS="$NCCL_LIBS -lnccl -lcudart"], [NCCL_CPPFLAGS= NCCL_LIBS=])
    AC_MSG_RESULT([$have_nccl])
    CPPFLAGS="$ringrt_save_CPPFLAGS" LIBS="$ringrt_save_LIBS"
    AS_IF([test "x$have_nccl" = xno && { test "x$with_nccl" != xcheck || test "x$with_cuda" != xcheck; }],
      [AC_MSG_ERROR([NCCL with CUDA was asked for and not found])])
  ])
  # Sums on a GPU that several ranks share are CUDA code.
  NVCC=
  AS_IF([test "x$have_nccl" = xyes], [
    AC_DEFINE([HAVE_NCCL], [1], [CUDA and NCCL are there])
    AC_SEARCH_LIBS([dlopen], [dl])
    AC_PATH_PROG([NVCC], [nvcc], [], [$ringrt_cuda/bin:$PATH])])
  AM_CONDITIONAL([HAVE_NVCC], [test -n "$NVCC"])
  AC_SUBST([NCCL_CPPFLAGS])
  AC_SUBST([NCCL_LIBS])
  AM_CONDITIONAL([HAVE_NCCL], [test "x$have_nccl" = xyes])
])

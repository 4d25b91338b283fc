# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_CXX20: require a C++20 compiler and link threads everywhere.
AC_DEFUN([RINGRT_CXX20], [
  AC_LANG([C++])
  # What `make plugins` compiles with if CXXFLAGS is not set: the same optimisations, and debug information of
  # lines and functions without variables. It saves an eighth of the time.
  PLUGINS_CXXFLAGS="$CXXFLAGS"
  AS_IF([test "x$CXXFLAGS" = "x-g -O2"], [PLUGINS_CXXFLAGS="-g1 -O2"])
  CXXFLAGS="$CXXFLAGS -std=c++20"
  CFLAGS="$CFLAGS -std=gnu11"
  AC_CACHE_CHECK([whether $CXX accepts C++20], [ringrt_cv_cxx20],
    [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <span>
      #include <bit>
      struct point { int x, y; };]],
      [[point p{.x = 1, .y = 2}; std::span<const int> s(&p.x, 1); return std::has_single_bit(4u) ? s[0] : 0;]])],
      [ringrt_cv_cxx20=yes], [ringrt_cv_cxx20=no])])
  AS_IF([test "x$ringrt_cv_cxx20" = xno],
    [AC_MSG_ERROR([ringrt needs a C++20 compiler (g++ 11 or later, clang++ 13 or later)])])
  # With this flag a debugger shows fewer values of optimised code, and compiling takes an eighth less time.
  ringrt_save_CXXFLAGS="$CXXFLAGS"
  CXXFLAGS="$CXXFLAGS -Werror -fno-var-tracking-assignments"
  AC_CACHE_CHECK([whether $CXX accepts -fno-var-tracking-assignments], [ringrt_cv_no_vta],
    [AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [ringrt_cv_no_vta=yes], [ringrt_cv_no_vta=no])])
  CXXFLAGS="$ringrt_save_CXXFLAGS"
  AS_IF([test "x$ringrt_cv_no_vta" = xyes], [QUICK_DEBUG_CXXFLAGS=-fno-var-tracking-assignments], [QUICK_DEBUG_CXXFLAGS=])
  AC_SUBST([QUICK_DEBUG_CXXFLAGS])
  CXXFLAGS="$CXXFLAGS -pthread"
  PLUGINS_CXXFLAGS="$PLUGINS_CXXFLAGS -std=c++20 -pthread"
  AC_SUBST([PLUGINS_CXXFLAGS])
  CFLAGS="$CFLAGS -pthread"
])

# RINGRT_WARNINGS: warnings on; --enable-werror turns them into errors (contrib/test does).
AC_DEFUN([RINGRT_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
    [], [enable_werror=no])
  WARN_CFLAGS="-Wall -Wextra -Wshadow -Wpointer-arith -Wformat=2"
  WARN_CXXFLAGS="$WARN_CFLAGS -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers"
  AS_IF([test "x$enable_werror" = xyes],
    [WARN_CFLAGS="$WARN_CFLAGS -Werror"; WARN_CXXFLAGS="$WARN_CXXFLAGS -Werror"])
  AC_SUBST([WARN_CFLAGS])
  AC_SUBST([WARN_CXXFLAGS])
])

# RINGRT_SANITIZE: --enable-sanitize=address,undefined or =thread builds everything with it; =fuzzer
# (CXX=clang++) is the former with libFuzzer's coverage.
AC_DEFUN([RINGRT_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST], [build with -fsanitize=LIST (address,undefined; thread; or fuzzer, with clang++)])],
    [], [enable_sanitize=no])
  AS_IF([test "x$enable_sanitize" = xyes], [enable_sanitize=address,undefined])
  FUZZ_LDFLAGS=
  AM_CONDITIONAL([HAVE_LIBFUZZER], [test "x$enable_sanitize" = xfuzzer])
  AS_IF([test "x$enable_sanitize" = xfuzzer],
    [FUZZ_LDFLAGS=-fsanitize=fuzzer enable_sanitize=fuzzer-no-link,address,undefined])
  AC_SUBST([FUZZ_LDFLAGS])
  # A shared library may leave no symbol undefined, except a sanitizer's, which the program provides.
  AS_IF([test "x$enable_sanitize" = xno], [NO_UNDEFINED="-Wl,-z,defs"], [NO_UNDEFINED=])
  AC_SUBST([NO_UNDEFINED])
  AS_IF([test "x$enable_sanitize" != xno],
    [# (A C program may pass any number for an enum; the API refuses those it does not know. The check of vptr needs a
     # file descriptor, and reports an error where a test has used them up.)
     SANITIZE_FLAGS="-fsanitize=$enable_sanitize -fno-sanitize=enum,vptr -fno-omit-frame-pointer -fno-sanitize-recover=undefined"
     CFLAGS="$CFLAGS $SANITIZE_FLAGS"
     CXXFLAGS="$CXXFLAGS $SANITIZE_FLAGS"
     PLUGINS_CXXFLAGS="$PLUGINS_CXXFLAGS $SANITIZE_FLAGS"
     LDFLAGS="$LDFLAGS -fsanitize=$enable_sanitize"])
])

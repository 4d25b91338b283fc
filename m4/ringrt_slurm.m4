# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_LIB_SLURM: Slurm's public headers and the folder its plugins live in.
# Sets HAVE_SLURM (conditional), SLURM_CPPFLAGS, SLURM_LIBS (for tools only: a plugin takes
# Slurm's symbols from the daemon that loads it), slurmplugindir, SLURM_VERSION_TEXT.
AC_DEFUN([RINGRT_LIB_SLURM], [
  AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm=DIR], [Slurm's installation prefix (default: search); --without-slurm leaves the plugins out])],
    [], [with_slurm=check])
  AC_ARG_WITH([slurm-plugin-dir],
    [AS_HELP_STRING([--with-slurm-plugin-dir=DIR], [where Slurm loads plugins from (default: asked from scontrol, pkg-config, or found)])],
    [slurmplugindir="$withval"], [slurmplugindir=])
  have_slurm=no
  SLURM_CPPFLAGS= SLURM_LIBS= SLURM_VERSION_TEXT=
  AS_IF([test "x$with_slurm" != xno], [
    AS_CASE([$with_slurm], [check|yes], [], [SLURM_CPPFLAGS="-isystem $with_slurm/include"])
    ringrt_save_CPPFLAGS="$CPPFLAGS"
    CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
    AC_CHECK_HEADER([slurm/spank.h], [have_slurm=yes], [have_slurm=no])
    AS_IF([test "x$have_slurm" = xyes], [
      AC_MSG_CHECKING([for Slurm's version])
      ringrt_number=`$CXX $CPPFLAGS -dM -E -x c++ -include slurm/slurm_version.h /dev/null 2>/dev/null |
        sed -n 's/^.define SLURM_VERSION_NUMBER \(0x@<:@0-9a-fA-F@:>@*\).*/\1/p'`
      AS_IF([test -n "$ringrt_number"], [SLURM_VERSION_TEXT=`printf '%d.%02d.%d' \
        $(( (ringrt_number >> 16) & 255 )) $(( (ringrt_number >> 8) & 255 )) $(( ringrt_number & 255 ))`])
      AC_MSG_RESULT([${SLURM_VERSION_TEXT:-unknown}])
    ])
    CPPFLAGS="$ringrt_save_CPPFLAGS"
    AS_IF([test "x$have_slurm" = xyes && test -z "$slurmplugindir"], [
      AC_MSG_CHECKING([for Slurm's plugin folder])
      for ringrt_dir in "${with_slurm}/lib/slurm" "${with_slurm}/lib64/slurm" \
          /usr/lib/*/slurm-wlm /usr/lib/*/slurm /usr/lib64/slurm /usr/lib/slurm /usr/local/lib/slurm; do
        AS_IF([test -z "$slurmplugindir" && test -e "$ringrt_dir/sched_backfill.so"], [slurmplugindir="$ringrt_dir"])
      done
      for ringrt_dir in /usr/lib/*/slurm-wlm /usr/lib/*/slurm; do
        AS_IF([test -z "$slurmplugindir" && test -d "$ringrt_dir"], [slurmplugindir="$ringrt_dir"])
      done
      AS_IF([test -z "$slurmplugindir"], [slurmplugindir='${libdir}/slurm'])
      AC_MSG_RESULT([$slurmplugindir])
    ])
    AS_IF([test "x$have_slurm" = xyes], [SLURM_LIBS="-lslurm"
      AS_CASE([$with_slurm], [check|yes], [], [SLURM_LIBS="-L$with_slurm/lib -lslurm"])])
    AS_IF([test "x$have_slurm" = xno && test "x$with_slurm" != xcheck],
      [AC_MSG_ERROR([--with-slurm given, but <slurm/spank.h> was not found])])
  ])
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_LIBS])
  AC_SUBST([SLURM_VERSION_TEXT])
  AC_SUBST([slurmplugindir])
  AM_CONDITIONAL([HAVE_SLURM], [test "x$have_slurm" = xyes])
])

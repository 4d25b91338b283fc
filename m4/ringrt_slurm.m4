# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_LIB_SLURM: Slurm's public headers and its plugin directory. Sets HAVE_SLURM (conditional),
# SLURM_CPPFLAGS, SLURM_LIBS (for programs only: a plugin uses the symbols of the daemon that loads it),
# slurmplugindir, slurmconffile, SLURM_VERSION_TEXT; and slurm_running, slurm_match for the summary.
AC_DEFUN([RINGRT_LIB_SLURM], [
  AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm=DIR], [Slurm's installation prefix: DIR/include/slurm must hold its headers (default: the compiler's own directories); --without-slurm leaves the plugins out])],
    [], [with_slurm=check])
  AC_ARG_WITH([slurm-plugin-dir],
    [AS_HELP_STRING([--with-slurm-plugin-dir=DIR], [where Slurm loads plugins from, its PluginDir (default: the directory that holds sched_backfill.so below --with-slurm, else below /usr and /usr/local; nothing is asked of a running Slurm)])],
    [slurmplugindir="$withval"], [slurmplugindir=])
  AC_ARG_WITH([slurm-conf],
    [AS_HELP_STRING([--with-slurm-conf=FILE], [the slurm.conf that ringrt-check reads where SLURM_CONF is not set (default: etc/slurm.conf below --with-slurm, else /etc/slurm/slurm.conf)])],
    [slurmconffile="$withval"], [slurmconffile=/etc/slurm/slurm.conf
      AS_CASE([$with_slurm], [/usr|/usr/], [], [/*], [slurmconffile="$with_slurm/etc/slurm.conf"])])
  have_slurm=no slurm_running= slurm_match=
  SLURM_CPPFLAGS= SLURM_LIBS= SLURM_VERSION_TEXT=
  AS_IF([test "x$with_slurm" != xno], [
    RINGRT_SLURM_HEADERS
    AS_IF([test "x$have_slurm" = xyes], [RINGRT_SLURM_RUNNING
      RINGRT_SLURM_PLUGIN_DIR
      RINGRT_SLURM_STAMP])
  ])
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_LIBS])
  AC_SUBST([SLURM_VERSION_TEXT])
  AC_SUBST([slurmplugindir])
  AC_SUBST([slurmconffile])
  AM_CONDITIONAL([HAVE_SLURM], [test "x$have_slurm" = xyes])
])

# The headers. If a prefix is given, no other place is searched: another Slurm's headers would build plugins
# with which slurmctld does not start.
AC_DEFUN([RINGRT_SLURM_HEADERS], [
  SLURM_LIBS=-lslurm
  AS_CASE([$with_slurm],
    [check|yes|/usr|/usr/], [],
    [/*], [
      AS_IF([test ! -f "$with_slurm/include/slurm/spank.h"],
        [AC_MSG_ERROR([--with-slurm=$with_slurm: there is no $with_slurm/include/slurm/spank.h])])
      SLURM_CPPFLAGS="-isystem $with_slurm/include"
      for ringrt_dir in "$with_slurm"/lib/*-*-* "$with_slurm/lib64" "$with_slurm/lib"; do
        AS_IF([test -e "$ringrt_dir/libslurm.so"], [SLURM_LIBS="-L$ringrt_dir -R$ringrt_dir -lslurm"])
      done],
    [AC_MSG_ERROR([--with-slurm=$with_slurm: expected an absolute path])])
  ringrt_save_CPPFLAGS="$CPPFLAGS"
  CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
  AC_CHECK_HEADER([slurm/spank.h], [have_slurm=yes], [have_slurm=no])
  AS_IF([test "x$have_slurm" = xno && test "x$with_slurm" != xcheck],
    [AC_MSG_ERROR([--with-slurm was given, but <slurm/spank.h> was not found: install libslurm-dev (slurm-devel)])])
  AS_IF([test "x$have_slurm" = xyes], [
    AC_MSG_CHECKING([for the version of Slurm's headers])
    ringrt_number=`$CXX $CPPFLAGS -dM -E -x c++ -include slurm/slurm_version.h /dev/null 2>/dev/null |
      sed -n 's/^.define SLURM_VERSION_NUMBER \(0x@<:@0-9a-fA-F@:>@*\).*/\1/p'`
    AS_IF([test -n "$ringrt_number"], [SLURM_VERSION_TEXT=`printf '%d.%02d.%d' \
      $(( (ringrt_number >> 16) & 255 )) $(( (ringrt_number >> 8) & 255 )) $(( ringrt_number & 255 ))`])
    AC_MSG_RESULT([${SLURM_VERSION_TEXT:-unknown}])])
  CPPFLAGS="$ringrt_save_CPPFLAGS"
])

# slurm_headers.h: every file compiled with Slurm's headers includes it. It is rewritten only if these headers
# or Slurm's directories change, so after a Slurm update make recompiles only those files. The headers' own times
# are no guide: a package's files are as old as the package.
AC_DEFUN([RINGRT_SLURM_STAMP], [
  ringrt_dir=`$CXX $CPPFLAGS $SLURM_CPPFLAGS -M -x c++ -include slurm/spank.h /dev/null 2>/dev/null |
    tr ' ' '\n' | sed -n 's,/spank\.h$,,p'`
  slurm_headers="Slurm ${SLURM_VERSION_TEXT:-of an unknown version}, plugins in $slurmplugindir, $slurmconffile: $ringrt_dir, `cat "$ringrt_dir"/*.h | cksum`"
  AC_CONFIG_COMMANDS([slurm_headers.h], [
    echo "/* By configure. $slurm_headers */" >slurm_headers.new
    AS_IF([cmp -s slurm_headers.new slurm_headers.h], [rm -f slurm_headers.new],
      [mv -f slurm_headers.new slurm_headers.h])], [slurm_headers='$slurm_headers'])
  SLURM_CPPFLAGS="$SLURM_CPPFLAGS -include slurm_headers.h"
])

# The installed Slurm: its programs report their version without a slurmctld.
AC_DEFUN([RINGRT_SLURM_RUNNING], [
  AC_MSG_CHECKING([for the version of the Slurm installed here])
  AS_CASE([$with_slurm], [check|yes|/usr|/usr/], [ringrt_dirs="/usr/sbin /usr/bin `echo $PATH | tr : ' '`"],
    [ringrt_dirs="$with_slurm/sbin $with_slurm/bin"])
  for ringrt_program in slurmctld slurmd scontrol; do
    for ringrt_dir in $ringrt_dirs; do
      AS_IF([test -z "$slurm_running" && test -x "$ringrt_dir/$ringrt_program"],
        [slurm_running=`"$ringrt_dir/$ringrt_program" -V 2>/dev/null </dev/null | sed -n 's/^slurm@<:@^ @:>@* \(@<:@0-9.@:>@*\).*/\1/p'`])
    done
  done
  AC_MSG_RESULT([${slurm_running:-none}])
  AS_IF([test -z "$slurm_running"], [slurm_match="not here: compare with slurmctld -V on its host"],
    [test "x$slurm_running" = "x$SLURM_VERSION_TEXT"], [slurm_match="$slurm_running (same)"],
    [slurm_match="$slurm_running: NOT THE SAME, slurmctld will refuse these plugins"
     AC_MSG_WARN([Slurm's headers are $SLURM_VERSION_TEXT, the Slurm installed here is $slurm_running])])
])

AC_DEFUN([RINGRT_SLURM_PLUGIN_DIR], [
  AC_MSG_CHECKING([for Slurm's plugin directory])
  AS_CASE([$with_slurm], [check|yes|/usr|/usr/],
    [ringrt_dirs="/usr/lib/*/slurm-wlm /usr/lib/*/slurm /usr/lib64/slurm /usr/lib/slurm /usr/local/lib/slurm"
     ringrt_default='${libdir}/slurm'],
    [ringrt_dirs="$with_slurm/lib/slurm $with_slurm/lib64/slurm $with_slurm/lib/*/slurm $with_slurm/lib/*/slurm-wlm"
     ringrt_default="$with_slurm/lib/slurm"])
  for ringrt_dir in $ringrt_dirs; do
    AS_IF([test -z "$slurmplugindir" && test -e "$ringrt_dir/sched_backfill.so"], [slurmplugindir="$ringrt_dir"])
  done
  # Only the headers are installed: Debian's libslurm-dev leaves the directory behind
  for ringrt_dir in $ringrt_dirs; do
    AS_IF([test -z "$slurmplugindir" && test -d "$ringrt_dir"], [slurmplugindir="$ringrt_dir"])
  done
  AS_IF([test -z "$slurmplugindir"], [slurmplugindir="$ringrt_default"])
  AC_MSG_RESULT([$slurmplugindir])
])

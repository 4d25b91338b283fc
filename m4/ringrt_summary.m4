# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_SUMMARY: what was found, and what is built as a result.
AC_DEFUN([RINGRT_SUMMARY], [
  ringrt_prefix="$prefix" ringrt_exec_prefix="$exec_prefix"
  AS_IF([test "x$prefix" = xNONE], [prefix="$ac_default_prefix"])
  AS_IF([test "x$exec_prefix" = xNONE], [exec_prefix="$prefix"])
  RINGRT_EXPAND([shown_prefix], [$prefix])
  RINGRT_EXPAND([shown_libdir], [$libdir])
  RINGRT_EXPAND([shown_plugindir], [$slurmplugindir])
  prefix="$ringrt_prefix" exec_prefix="$ringrt_exec_prefix"

  RINGRT_FOUND([slurm], [$have_slurm], [libslurm-dev (slurm-devel)])
  AS_IF([test "x$have_slurm" = xyes], [slurm="${SLURM_VERSION_TEXT:-yes}"])
  RINGRT_FOUND([yaml], [$have_yaml], [libyaml-dev (libyaml-devel) and pkg-config])
  RINGRT_FOUND([xxhash], [$have_xxhash], [libxxhash-dev (xxhash-devel)])
  RINGRT_FOUND([tool_headers], [$have_tool_headers], [libcli11-dev nlohmann-json3-dev (cli11-devel json-devel)])
  plugins="no (needs Slurm's headers and libyaml)"
  ringstat="no (needs Slurm's headers, libyaml, CLI11 and nlohmann-json)"
  AS_IF([test "x$have_slurm" = xyes && test "x$have_yaml" = xyes],
    [plugins="yes, into $shown_plugindir"
     AS_IF([test "x$have_tool_headers" = xyes], [ringstat=yes])])
  libringrt="no (needs xxhash.h)"
  AS_IF([test "x$have_xxhash" = xyes], [libringrt="yes, into $shown_libdir"])
  gpu="no (needs CUDA and NCCL)"
  AS_IF([test "x$have_nccl" = xyes], [gpu="yes, ranks that share a GPU through the host (needs nvcc)"])
  AS_IF([test -n "$NVCC"], [gpu="yes, with CUDA IPC for ranks that share a GPU"])
  next="make && make check && make install; the plugins alone: make plugins && make install-plugins"
  AS_IF([test "x$have_xxhash" = xno], [next="make plugins && make install-plugins"])
  AS_ECHO(["
ringrt $PACKAGE_VERSION

  found
    Slurm headers  $slurm
    running Slurm  ${slurm_match:--}
    libyaml        $yaml
    xxhash         $xxhash
    MPI            $have_mpi
    NCCL + CUDA    $have_nccl
    hwloc          $have_hwloc
    Check          $have_check
    CLI11, json    $tool_headers

  Slurm plugins    $plugins
  libringrt        $libringrt
  GPU transport    $gpu
  ringstat         $ringstat
  other tools      $have_tool_headers
  unit tests       $have_check

  prefix           $shown_prefix
  slurm.conf       $slurmconffile
  compiler         $CXX $CXXFLAGS
  sanitizers       $enable_sanitize

Next: $next
"])
])

# RINGRT_EXPAND(VARIABLE, PATH): ${exec_prefix}/lib -> /usr/local/lib, in two rounds
AC_DEFUN([RINGRT_EXPAND], [
  eval "$1=\"$2\""
  eval "$1=\"$$1\""
])

# RINGRT_FOUND(VARIABLE, YES|NO, PACKAGES): the summary's text for a dependency
AC_DEFUN([RINGRT_FOUND], [
  $1="$2"
  AS_IF([test "x$2" = xno], [$1="no: install $3"])
])

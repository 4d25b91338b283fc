# SPDX-License-Identifier: BSD-3-Clause

# RINGRT_SUMMARY: what was found and what is therefore built.
AC_DEFUN([RINGRT_SUMMARY], [
  plugins="no (needs Slurm's headers and libyaml)"
  AS_IF([test "x$have_slurm" = xyes && test "x$have_yaml" = xyes], [plugins="yes, into $slurmplugindir"])
  ringstat="no (needs Slurm's headers, libyaml, CLI11 and nlohmann-json)"
  AS_IF([test "x$have_slurm" = xyes && test "x$have_tool_headers" = xyes && test "x$have_yaml" = xyes], [ringstat=yes])
  AS_IF([test "x$have_slurm" = xyes], [slurm="${SLURM_VERSION_TEXT:-yes}"], [slurm=no])
  gpu="no (needs CUDA and NCCL)"
  AS_IF([test "x$have_nccl" = xyes], [gpu="yes, ranks that share a GPU through the host (needs nvcc)"])
  AS_IF([test -n "$NVCC"], [gpu="yes, with CUDA IPC for ranks that share a GPU"])
  AS_ECHO(["
ringrt $PACKAGE_VERSION

  found
    Slurm headers  $slurm
    libyaml        $have_yaml
    MPI            $have_mpi
    NCCL + CUDA    $have_nccl
    hwloc          $have_hwloc
    Check          $have_check
    CLI11, json    $have_tool_headers

  Slurm plugins    $plugins
  libringrt        yes, into $libdir
  GPU transport    $gpu
  ringstat         $ringstat
  other tools      $have_tool_headers
  unit tests       $have_check

  prefix           $prefix
  compiler         $CXX $CXXFLAGS
  sanitizers       $enable_sanitize

Next: make && make check && make install
"])
])

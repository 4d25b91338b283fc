# SPDX-License-Identifier: BSD-3-Clause
# The policies that malleable.yaml may name: file names without .cpp. make compiles them, and registry.cpp
# finds them. A new policy needs one line here and its file (doc/policies.md).
policies =
policies += slurm_plugin/policy/doubling

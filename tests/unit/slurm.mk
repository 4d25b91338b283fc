# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of what slurm_plugin/slurm does without Slurm.
if HAVE_SLURM
if HAVE_YAML
check_PROGRAMS += tests/unit/test_yaml
TESTS += tests/unit/test_yaml
tests_unit_test_yaml_SOURCES = tests/unit/test_yaml.cpp tests/support/check.h
tests_unit_test_yaml_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_yaml_LDADD = libyamloptions.la libcontroller.la $(YAML_LIBS) $(CHECK_LIBS)
endif HAVE_YAML
endif HAVE_SLURM

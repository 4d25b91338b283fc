# SPDX-License-Identifier: BSD-3-Clause
# ringrt-check: needs neither libslurm nor CLI11, so that the plugins can be built without them. Its checks
# are a library, which the unit test links as well.
if HAVE_SLURM
if HAVE_YAML
noinst_LTLIBRARIES += libringrtcheck.la
libringrtcheck_la_SOURCES = \
	tools/ringrt-check/checks.cpp tools/ringrt-check/checks.h \
	tools/ringrt-check/controller_checks.cpp \
	tools/ringrt-check/node_checks.cpp \
	tools/ringrt-check/plugin_file.cpp tools/ringrt-check/plugin_file.h \
	tools/ringrt-check/plugstack.cpp tools/ringrt-check/plugstack.h \
	tools/ringrt-check/report.cpp tools/ringrt-check/report.h \
	tools/ringrt-check/slurm_conf.cpp tools/ringrt-check/slurm_conf.h \
	tools/ringrt-check/text_file.cpp tools/ringrt-check/text_file.h
libringrtcheck_la_LIBADD = libyamloptions.la libcontroller.la $(YAML_LIBS)

sbin_PROGRAMS += ringrt-check
dist_man_MANS += man/ringrt-check.8
ringrt_check_SOURCES = tools/ringrt-check/main.cpp
ringrt_check_CPPFLAGS = $(AM_CPPFLAGS) -DRINGRT_SLURM_PLUGIN_DIR='"$(slurmplugindir)"' \
	-DRINGRT_SLURM_CONF='"$(slurmconffile)"'
ringrt_check_LDADD = libringrtcheck.la
endif
endif

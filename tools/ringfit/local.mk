# SPDX-License-Identifier: BSD-3-Clause
# ringfit: samples -> models
if HAVE_TOOL_HEADERS
noinst_LTLIBRARIES += libringfit.la
libringfit_la_SOURCES = tools/ringfit/fit.cpp tools/ringfit/fit.h
libringfit_la_LIBADD = libringsim.la
bin_PROGRAMS += ringfit
dist_man_MANS += man/ringfit.1
ringfit_SOURCES = tools/ringfit/main.cpp
ringfit_LDADD = libringfit.la
endif

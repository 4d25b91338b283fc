# SPDX-License-Identifier: BSD-3-Clause
# The example program. Users build it with contrib/examples/Makefile.example against an installed
# ringrt.
noinst_LTLIBRARIES += libdigits.la
libdigits_la_SOURCES = \
	contrib/examples/digits_data.cpp contrib/examples/digits_data.h \
	contrib/examples/digits_device.h \
	contrib/examples/digits_log.cpp contrib/examples/digits_log.h \
	contrib/examples/digits_mlp.cpp contrib/examples/digits_mlp.h \
	contrib/examples/digits_options.cpp contrib/examples/digits_options.h
libdigits_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/libringrt
# Training is arithmetic: optimized even if CXXFLAGS are empty (the demo's quick build).
libdigits_la_CXXFLAGS = $(AM_CXXFLAGS) -O2

noinst_PROGRAMS += digits
digits_SOURCES = contrib/examples/digits.cpp contrib/examples/digits_in_place.cpp \
	contrib/examples/digits_training.cpp contrib/examples/digits_training.h
digits_CPPFLAGS = $(libdigits_la_CPPFLAGS)
digits_CXXFLAGS = $(libdigits_la_CXXFLAGS)
digits_LDADD = libdigits.la libringrt.la

noinst_PROGRAMS += live
live_SOURCES = contrib/examples/live.c
live_CPPFLAGS = $(libdigits_la_CPPFLAGS)
live_LDADD = libringrt.la

noinst_PROGRAMS += live_rows
live_rows_SOURCES = contrib/examples/live_rows.c
live_rows_CPPFLAGS = $(libdigits_la_CPPFLAGS)
live_rows_LDADD = libringrt.la

noinst_PROGRAMS += checkpoints
checkpoints_SOURCES = contrib/examples/checkpoints.c
checkpoints_CPPFLAGS = $(libdigits_la_CPPFLAGS)
checkpoints_LDADD = libringrt.la

noinst_PROGRAMS += job
job_SOURCES = contrib/examples/job.c
job_CPPFLAGS = $(libdigits_la_CPPFLAGS)
job_LDADD = libringrt.la

noinst_PROGRAMS += communicators
communicators_SOURCES = contrib/examples/communicators.c
communicators_CPPFLAGS = $(libdigits_la_CPPFLAGS)
communicators_LDADD = libringrt.la

EXTRA_DIST += contrib/examples/Makefile.example contrib/examples/cuda.cu contrib/examples/ddp.py contrib/examples/digits_cnn.py contrib/examples/get-digits \
	contrib/examples/train.sh contrib/examples/train_hf.py contrib/examples/train_jax.py contrib/examples/train_lightning.py \
	contrib/examples/train_submitit.py
CLEANFILES += digits.csv

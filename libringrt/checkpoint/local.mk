# SPDX-License-Identifier: BSD-3-Clause
# Checkpoints
libruntime_la_SOURCES += \
	libringrt/checkpoint/blocks.cpp \
	libringrt/checkpoint/blocks.h \
	libringrt/checkpoint/fence.cpp \
	libringrt/checkpoint/fence.h \
	libringrt/checkpoint/files.cpp \
	libringrt/checkpoint/files.h \
	libringrt/checkpoint/hash.cpp \
	libringrt/checkpoint/hash.h \
	libringrt/checkpoint/hasher.cpp \
	libringrt/checkpoint/hasher.h \
	libringrt/checkpoint/layout.cpp \
	libringrt/checkpoint/layout.h \
	libringrt/checkpoint/load.cpp \
	libringrt/checkpoint/load.h \
	libringrt/checkpoint/load_late.cpp \
	libringrt/checkpoint/local_level.cpp \
	libringrt/checkpoint/local_level.h \
	libringrt/checkpoint/manifest.cpp \
	libringrt/checkpoint/manifest.h \
	libringrt/checkpoint/manifest_tilings.cpp \
	libringrt/checkpoint/manifest_tilings.h \
	libringrt/checkpoint/program_files.cpp \
	libringrt/checkpoint/program_files.h \
	libringrt/checkpoint/save.cpp \
	libringrt/checkpoint/save.h \
	libringrt/checkpoint/shard.cpp \
	libringrt/checkpoint/shard.h \
	libringrt/checkpoint/source_reader.cpp \
	libringrt/checkpoint/source_reader.h \
	libringrt/checkpoint/staging.cpp \
	libringrt/checkpoint/staging.h \
	libringrt/checkpoint/store.cpp \
	libringrt/checkpoint/store.h \
	libringrt/checkpoint/words.h

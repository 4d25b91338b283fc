# SPDX-License-Identifier: BSD-3-Clause
# Resizing in place: a job and its extensions
libruntime_la_SOURCES += \
	libringrt/live/base_join.cpp \
	libringrt/live/base_shrink.cpp \
	libringrt/live/buffer_rows.cpp \
	libringrt/live/buffer_rows.h \
	libringrt/live/closer.cpp \
	libringrt/live/closer.h \
	libringrt/live/copy_placement.cpp \
	libringrt/live/copy_placement.h \
	libringrt/live/forming.cpp \
	libringrt/live/forming.h \
	libringrt/live/join_listener.cpp \
	libringrt/live/join_listener.h \
	libringrt/live/join_messages.h \
	libringrt/live/join_request.cpp \
	libringrt/live/join_request.h \
	libringrt/live/moving_rows.cpp \
	libringrt/live/moving_rows.h \
	libringrt/live/row_exchange.cpp \
	libringrt/live/row_exchange.h \
	libringrt/live/settlement.cpp \
	libringrt/live/settlement.h \
	libringrt/live/settling.cpp \
	libringrt/live/position.h \
	libringrt/live/program_state.cpp \
	libringrt/live/program_state.h \
	libringrt/live/state_copies.cpp \
	libringrt/live/state_copies.h \
	libringrt/live/state_machine.cpp \
	libringrt/live/state_machine.h \
	libringrt/live/peer_memory.cpp \
	libringrt/live/peer_memory.h \
	libringrt/live/resizer.cpp \
	libringrt/live/resizer.h \
	libringrt/live/state_chunks.cpp \
	libringrt/live/state_chunks.h \
	libringrt/live/state_transfer.cpp \
	libringrt/live/state_transfer.h

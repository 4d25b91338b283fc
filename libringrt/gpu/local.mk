# SPDX-License-Identifier: BSD-3-Clause
# Buffers in GPU memory: compiled if CUDA and NCCL are found, and opened at run time if there is a GPU
libcollective_la_SOURCES += \
	libringrt/gpu/device_collectives.cpp \
	libringrt/gpu/device_collectives.h \
	libringrt/gpu/device_failures.cpp \
	libringrt/gpu/device_pointer.cpp \
	libringrt/gpu/device_pointer.h \
	libringrt/gpu/gpu.h \
	libringrt/gpu/gpu_memory.cpp \
	libringrt/gpu/gpu_memory.h \
	libringrt/gpu/nccl_ahead.cpp \
	libringrt/gpu/stream_order.cpp
EXTRA_DIST += libringrt/gpu/reduce.cu libringrt/gpu/nccl.cpp libringrt/gpu/nvidia_gpu.cpp libringrt/gpu/nvidia_gpu.h \
	libringrt/gpu/no_gpu.cpp libringrt/gpu/gpu_functions.h libringrt/gpu/cuda_here.h libringrt/gpu/nccl_comm.cpp \
	libringrt/gpu/nccl_comm.h
if HAVE_NCCL
noinst_LTLIBRARIES += libnvidia.la
libnvidia_la_SOURCES = libringrt/gpu/nccl.cpp libringrt/gpu/nccl_comm.cpp libringrt/gpu/nvidia_gpu.cpp \
	libringrt/gpu/nvidia_gpu.h
nodist_libnvidia_la_SOURCES = libringrt/gpu/reduce_ptx.h
libnvidia_la_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
libcollective_la_LIBADD += libnvidia.la
$(libnvidia_la_OBJECTS): libringrt/gpu/reduce_ptx.h
CLEANFILES += libringrt/gpu/reduce_ptx.h
# Text for the driver; empty without nvcc.
libringrt/gpu/reduce_ptx.h: libringrt/gpu/reduce.cu
	$(AM_V_GEN)$(MKDIR_P) libringrt/gpu && : >$@.ptx
if HAVE_NVCC
	$(AM_V_at)$(NVCC) -ptx -arch=compute_75 -fmad=false -std=c++17 -o $@.ptx $(srcdir)/libringrt/gpu/reduce.cu
endif
	$(AM_V_at){ echo 'static const char kReducePtx[] = R"ptx('; cat $@.ptx; echo ')ptx";'; } >$@.new
	$(AM_V_at)rm -f $@.ptx && mv $@.new $@
else
libcollective_la_SOURCES += libringrt/gpu/no_gpu.cpp
endif

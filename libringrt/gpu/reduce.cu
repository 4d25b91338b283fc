// SPDX-License-Identifier: BSD-3-Clause
// reduce (reduce/reduce.h) for buffers in the memory of one GPU: the same bits as on a CPU, except
// in NaNs. One kernel per (dtype, op), named reduce_DTYPE_OP by their numbers in ringrt_comm.h.
// nvcc builds it as PTX, which the driver compiles for the actual GPU; nvidia_gpu.cpp loads it.
#include <cuda_fp16.h>

struct Brain {
    unsigned short bits;
};

struct Sources {  // Gpu::kSourcesMax
    const void *at[16];
    int number;
};

enum { kSum, kAvg, kMin, kMax, kProd };

__device__ float widen(__half x) { return __half2float(x); }
__device__ float widen(Brain x) { return __uint_as_float((unsigned)x.bits << 16); }
template <class T>
__device__ T widen(T x) {
    return x;
}

__device__ void narrow(float x, __half *out) { *out = __float2half_rn(x); }
__device__ void narrow(float x, Brain *out) {
    unsigned bits = __float_as_uint(x), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    out->bits = (bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded;
}
template <class T>
__device__ void narrow(T x, T *out) {
    *out = x;
}

template <class A>
struct Modulo {
    using type = A;
};
template <>
struct Modulo<int> {
    using type = unsigned;
};
template <>
struct Modulo<long long> {
    using type = unsigned long long;
};

template <class A, int op>
__device__ A combine(A a, A b) {
    using U = typename Modulo<A>::type;  // integers wrap around
    if (op == kMin) return b < a || b != b ? b : a;
    if (op == kMax) return b > a || b != b ? b : a;
    if (op == kProd) return A(U(a) * U(b));
    return A(U(a) + U(b));
}

template <class T, class A, int op>
__device__ void reduce(const Sources &sources, T *out, unsigned long long count) {
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
         i < count; i += stride) {
        A a = widen(static_cast<const T *>(sources.at[0])[i]);
        for (int k = 1; k < sources.number; ++k)
            a = combine<A, op>(a, widen(static_cast<const T *>(sources.at[k])[i]));
        if (op == kAvg) a = a / A(sources.number);
        narrow(a, &out[i]);
    }
}

#define KERNEL(dtype, op, T, A)                                                  \
    extern "C" __global__ void reduce_##dtype##_##op(Sources sources, void *out, \
                                                     unsigned long long count) { \
        reduce<T, A, op>(sources, static_cast<T *>(out), count);                 \
    }
#define KERNELS(dtype, T, A) \
    KERNEL(dtype, 0, T, A)   \
    KERNEL(dtype, 1, T, A)   \
    KERNEL(dtype, 2, T, A)   \
    KERNEL(dtype, 3, T, A)   \
    KERNEL(dtype, 4, T, A)
KERNELS(0, float, float)
KERNELS(1, double, double)
KERNELS(2, __half, float)
KERNELS(3, Brain, float)
KERNELS(4, int, int)
KERNELS(5, long long, long long)
KERNELS(11, unsigned, unsigned)
KERNELS(12, unsigned long long, unsigned long long)

// SPDX-License-Identifier: Apache-2.0
// The dialect that kernels for GPUs are written in: what CUDA C and OpenCL C have in common, with these names for the rest.
// QUOTIENT is a quotient of floats as the processor rounds it, which `/` is not with every driver.
// LOCAL_FOURS makes an array of floats in shared memory, LOAD_FOUR loads four of them whose first one is a multiple of four.
//   KERNEL(f)(READ(float, x), WRITE(float, y), const int n) { USE_READ(float, x); USE_WRITE(float, y); ... }
// READ and WRITE are buffers; USE_* makes the pointer. OpenCL passes a buffer and an offset, CUDA a pointer. UPDATE is a READ whose memory
// the kernel may write through another argument. Sizes and indices are `int`.
#pragma once
#include <string_view>

namespace minnow::gpu {

inline constexpr std::string_view kOpenClPrefix = R"(
#define KERNEL(name) __kernel void name
#define READ(T, p) __global const T* p##_buffer, const ulong p##_first
#define UPDATE(T, p) __global const T* p##_buffer, const ulong p##_first
#define WRITE(T, p) __global T* p##_buffer, const ulong p##_first
#define USE_READ(T, p) __global const T* const p = (__global const T*)((__global const char*)p##_buffer + p##_first)
#define USE_WRITE(T, p) __global T* const p = (__global T*)((__global char*)p##_buffer + p##_first)
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_PARAMETER __local
#define INLINE inline
#define GROUP(i) ((int)get_group_id(i))
#define GROUPS(i) ((int)get_num_groups(i))
#define ITEM(i) ((int)get_local_id(i))
#define ITEMS(i) ((int)get_local_size(i))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define UNROLL
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#define AS_F32(bits) as_float(bits)
#define AS_U32(x) as_uint(x)
#define FMA(a, b, c) fma(a, b, c)
#define QUOTIENT(a, b) ((a) / (b))
#define LOCAL_FOURS(name, count) __local float4 name##_fours[(count) / 4]; __local float* const name = (__local float*)name##_fours
#define LOAD_FOUR(to, from) vstore4(vload4(0, from), 0, to)
#define COMPARE_EXCHANGE(p, old, v) atomic_cmpxchg(p, old, v)
float f16_to_f32(u16 x) { return vload_half(0, (const __private half*)&x); }
u16 f32_to_f16(float x) { u16 y; vstore_half_rte(x, 0, (__private half*)&y); return y; }
)";

inline constexpr std::string_view kCudaPrefix = R"(
#define KERNEL(name) extern "C" __global__ void name
#define READ(T, p) const T* __restrict__ p
#define UPDATE(T, p) const T* p
#define WRITE(T, p) T* p
#define USE_READ(T, p)
#define USE_WRITE(T, p)
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_PARAMETER
#define INLINE __device__ __forceinline__
#define GROUP(i) ((int)((i) == 0 ? blockIdx.x : (i) == 1 ? blockIdx.y : blockIdx.z))
#define GROUPS(i) ((int)((i) == 0 ? gridDim.x : (i) == 1 ? gridDim.y : gridDim.z))
#define ITEM(i) ((int)((i) == 0 ? threadIdx.x : (i) == 1 ? threadIdx.y : threadIdx.z))
#define ITEMS(i) ((int)((i) == 0 ? blockDim.x : (i) == 1 ? blockDim.y : blockDim.z))
#define BARRIER() __syncthreads()
#define UNROLL _Pragma("unroll")
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
#define AS_F32(bits) __uint_as_float(bits)
#define AS_U32(x) __float_as_uint(x)
#define FMA(a, b, c) fmaf(a, b, c)
#define QUOTIENT(a, b) ((a) / (b))
#define LOCAL_FOURS(name, count) __shared__ float4 name##_fours[(count) / 4]; float* const name = (float*)name##_fours
#define LOAD_FOUR(to, from) { const float4 four = *(const float4*)(from); (to)[0] = four.x, (to)[1] = four.y, (to)[2] = four.z, (to)[3] = four.w; }
#define COMPARE_EXCHANGE(p, old, v) atomicCAS((u32*)(p), old, v)
#define isnan(x) ((x) != (x))
#define isinf(x) (fabsf(x) == __uint_as_float(0x7f800000u))
#define sin sinf
#define cos cosf
#define tan tanf
#define asin asinf
#define acos acosf
#define atan atanf
#define sinh sinhf
#define cosh coshf
#define tanh tanhf
#define asinh asinhf
#define acosh acoshf
#define atanh atanhf
#define exp expf
#define log logf
#define log1p log1pf
#define sqrt sqrtf
#define fabs fabsf
#define floor floorf
#define ceil ceilf
#define rint rintf
#define erf erff
#define pow powf
#define fmod fmodf
#define fmin fminf
#define fmax fmaxf
__device__ __forceinline__ float f16_to_f32(u16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
__device__ __forceinline__ u16 f32_to_f16(float x) { u16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
)";

/// For both: bf16, and the loads and stores of each dtype as what kernels compute with.
inline constexpr std::string_view kCommonPrefix = R"(
INLINE float bf16_to_f32(u16 x) { return AS_F32((u32)x << 16); }
INLINE u16 f32_to_bf16(float x) {
  const u32 bits = AS_U32(x);
  if (x != x) return (u16)((bits >> 16) | 64);
  return (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
// A float between 0 and 1, and as an integer as references round it; NaN stays, or is 0.
INLINE float BOUNDED(float x) { return x < 0 ? 0.0f : x > 1 ? 1.0f : x; }
// A rounded quotient with its zero point, cut to a range; NaN becomes the zero point.
INLINE float QUANTIZED(float q, float zero, float low, float high) {
  const float v = q + zero;
  return q != q ? zero : v < low ? low : v > high ? high : v;
}
INLINE i64 I64_OF(float x) {
  return x != x ? 0 : x >= 18446744073709551616.0f ? 0x7fffffffffffffff : x >= 9223372036854775808.0f ? (i64)(u64)x
         : x <= -9223372036854775808.0f ? -0x7fffffffffffffff - 1 : (i64)x;
}
INLINE i32 I32_OF(float x) { return (i32)I64_OF(x); }
#define LOAD_f32(p, i) p[i]
#define LOAD_f16(p, i) f16_to_f32(p[i])
#define LOAD_bf16(p, i) bf16_to_f32(p[i])
#define LOAD_i8(p, i) p[i]
#define LOAD_u8(p, i) p[i]
#define LOAD_i16(p, i) p[i]
#define LOAD_u16(p, i) p[i]
#define LOAD_i32(p, i) p[i]
#define LOAD_u32(p, i) p[i]
#define LOAD_i64(p, i) p[i]
#define LOAD_u64(p, i) p[i]
#define LOAD_bool(p, i) (p[i] != 0)
#define STORE_f32(p, i, v) p[i] = (v)
#define STORE_f16(p, i, v) p[i] = f32_to_f16(v)
#define STORE_bf16(p, i, v) p[i] = f32_to_bf16(v)
#define STORE_i8(p, i, v) p[i] = (i8)(v)
#define STORE_u8(p, i, v) p[i] = (u8)(v)
#define STORE_i16(p, i, v) p[i] = (i16)(v)
#define STORE_u16(p, i, v) p[i] = (u16)(v)
#define STORE_i32(p, i, v) p[i] = (v)
#define STORE_u32(p, i, v) p[i] = (v)
#define STORE_i64(p, i, v) p[i] = (v)
#define STORE_u64(p, i, v) p[i] = (v)
#define STORE_bool(p, i, v) p[i] = (v) ? 1 : 0
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define LOAD(T, p, i) CAT(LOAD_, T)(p, i)
#define STORE(T, p, i, v) CAT(STORE_, T)(p, i, v)
#define GET(p, i) LOAD(CAT(T_, p), p, i)
#define PUT(p, i, v) STORE(CAT(T_, p), p, i, v)
#define M_f16 u16
#define M_bf16 u16
#define M_bool u8
#define M_f32 float
#define M_i8 i8
#define M_u8 u8
#define M_i16 i16
#define M_u16 u16
#define M_i32 i32
#define M_u32 u32
#define M_i64 i64
#define M_u64 u64
#define MEM(T) CAT(M_, T)
)";

}  // namespace minnow::gpu

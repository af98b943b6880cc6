// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/library.h"

namespace minnow::gpu {

const std::string_view kShaderPrefix = R"(
#define KERNEL(name) __kernel void name
#define READ(T, p) __read T* p
#define UPDATE(T, p) __update T* p
#define WRITE(T, p) __write T* p
#define USE_READ(T, p)
#define USE_WRITE(T, p)
#define GLOBAL
#define LOCAL __local
#define LOCAL_PARAMETER
#define INLINE
#define GROUP(i) __group(i)
#define GROUPS(i) __groups(i)
#define ITEM(i) __item(i)
#define ITEMS(i) __items(i)
#define BARRIER() __barrier()
#define UNROLL __unroll
#define AS_F32(bits) __as_f32(bits)
#define AS_U32(x) __as_u32(x)
#define FMA(a, b, c) __fma(a, b, c)
#define QUOTIENT(a, b) __quotient(a, b)
#define LOCAL_FOURS(name, count) __local float name[count]
#define LOAD_FOUR(to, from) __load_four(to, from)
#define COMPARE_EXCHANGE(p, old, v) __compare_exchange(p, old, v)
)";

namespace {

struct Row {
  std::string_view name, text;
};
constexpr Row kRows[] = {
    {"__divide_u64", R"(
u64 __divide_u64(u64 a, u64 b) {
  if ((u32)(a >> 32) == 0 && (u32)(b >> 32) == 0) return (u64)((u32)a / (u32)b);
  u64 quotient = 0, rest = 0;
  for (int k = 63; k >= 0; --k) {
    rest = (rest << 1) | ((a >> k) & 1);
    if (rest >= b) { rest -= b; quotient = quotient | ((u64)1 << k); }
  }
  return quotient;
})"},
    {"__divide_i64", R"(
i64 __divide_i64(i64 a, i64 b) {
  const u64 quotient = (u64)(a < 0 ? 0 - a : a) / (u64)(b < 0 ? 0 - b : b);
  return (a < 0) != (b < 0) ? 0 - (i64)quotient : (i64)quotient;
})"},
    // The order of floats as that of integers, with NaN above all: Vulkan's largest float of a subgroup may drop NaN.
    {"__subgroup_MOST", R"(
float __subgroup_MOST(float x) {
  const i32 bits = isnan(x) ? 0x7fffffff : (i32)AS_U32(x);
  const i32 most = __subgroup_most(bits < 0 ? bits ^ 0x7fffffff : bits);
  return AS_F32((u32)(most < 0 ? most ^ 0x7fffffff : most));
})"},
    {"__subgroup_LEAST", "float __subgroup_LEAST(float x) { return -__subgroup_MOST(-x); }"},
    // Without branches, which neighbouring items would take differently.
    {"f16_to_f32", R"(
float f16_to_f32(u16 x) {
  const u32 rest = (u32)x & 0x7fffu;
  const u32 tiny = AS_U32((float)rest * AS_F32(0x33800000u)), normal = (rest << 13) + 0x38000000u;
  const u32 size = rest < 0x400u ? tiny : rest < 0x7c00u ? normal : normal + 0x38000000u;
  return AS_F32(size | (((u32)x & 0x8000u) << 16));
})"},
    {"f32_to_f16", R"(
u16 f32_to_f16(float x) {
  const u32 bits = AS_U32(x), size = bits & 0x7fffffffu;
  const u32 normal = (size + 0xfffu + ((size >> 13) & 1u) - 0x38000000u) >> 13, nan = 0x7e00u | ((size >> 13) & 0x3ffu);
  const u32 tiny = (u32)rint(AS_F32(size < 0x38800000u ? size : 0) * 16777216.0f);
  const u32 rounded = size < 0x38800000u ? tiny : size >= 0x477ff000u ? 0x7c00u : normal;
  return (u16)((size > 0x7f800000u ? nan : rounded) | ((bits >> 16) & 0x8000u));
})"},
    // The quotient as IEEE 754 rounds it. Drivers' divisions may be 2.5 units off, and subnormal numbers may be zeros to them, so one of
    // them gives an estimate for the significands, and integers the rest: 25 bits of the quotient, then what remains of the dividend, which
    // is small enough to be right modulo 2^32.
    {"__quotient", R"(
float __quotient(float x, float y) {
  const u32 sign = (AS_U32(x) ^ AS_U32(y)) & 0x80000000u, x_size = AS_U32(x) & 0x7fffffffu, y_size = AS_U32(y) & 0x7fffffffu;
  if (x_size - 1u >= 0x7f7fffffu || y_size - 1u >= 0x7f7fffffu) {
    if (x_size > 0x7f800000u || y_size > 0x7f800000u || x_size == y_size) return AS_F32(0x7fc00000u);
    return AS_F32(sign | (x_size == 0x7f800000u || y_size == 0 ? 0x7f800000u : 0u));
  }
  const int x_tiny = x_size < 0x800000u, y_tiny = y_size < 0x800000u;
  const u32 x_bits = x_tiny ? AS_U32((float)x_size) : x_size, y_bits = y_tiny ? AS_U32((float)y_size) : y_size;
  u32 a = (x_bits & 0x7fffffu) | 0x800000u;
  const u32 b = (y_bits & 0x7fffffu) | 0x800000u;
  int exponent = (int)(x_bits >> 23) - (int)(y_bits >> 23) + 127 + (y_tiny ? 149 : 0) - (x_tiny ? 149 : 0);
  if (a < b) { a <<= 1; exponent -= 1; }
  const float inverse = 1.0f / (float)b;
  u32 q = (u32)((float)a * inverse * 16777216.0f);
  int rest = (int)((a << 24) - q * b);
  const int more = (int)floor((float)rest * inverse);
  q += (u32)more;
  rest -= more * (int)b;
  if (rest < 0) { rest += (int)b; q -= 1u; }
  if (rest >= (int)b) { rest -= (int)b; q += 1u; }
  const int by = exponent > 0 ? 1 : exponent > -24 ? 2 - exponent : 26;
  const u32 kept = q >> by, lost = ((q - (kept << by)) << 1) | (rest != 0 ? 1u : 0u);
  const u32 rounded = kept + (lost + (kept & 1u) > ((u32)1 << by) ? 1u : 0u);
  const u32 size = exponent > 254 ? 0x7f800000u : exponent > 0 ? ((u32)(exponent - 1) << 23) + rounded : rounded;
  return AS_F32(sign | size);
})"},
    // n ln 2 is taken off in two parts, the first of which is exact; 2^n is multiplied in two steps, so that it may be subnormal.
    {"__scaled", R"(
float __scaled(float x, int n) {
  const int half = n / 2;
  return x * AS_F32((u32)(half + 127) << 23) * AS_F32((u32)(n - half + 127) << 23);
})"},
    {"exp", R"(
float exp(float given) {
  const float x = given > 89.0f ? 89.0f : given < -104.0f ? -104.0f : given;
  const float n = rint(x * 1.44269504f), r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  const float p = (((0.00139504885f * r + 0.00836888963f) * r + 0.0416662058f) * r + 0.166665188f) * r + 0.5f;
  const float result = __scaled(r * r * p + r + 1.0f, (int)n);
  return isnan(given) ? given : result;
})"},
    // f - f^2 / 2 + ..., with s = f / (2 + f) and log(1 + f) = log(1 + s) - log(1 - s)
    {"log", R"(
float log(float given) {
  const int is_small = given < 1.17549435e-38f;
  const u32 bits = AS_U32(is_small ? given * 33554432.0f : given);
  const int n = (int)((bits + 0x4afb0du) >> 23) - 127;
  const float f = AS_F32(bits - ((u32)n << 23)) - 1.0f, s = f / (2.0f + f), z = s * s, half = 0.5f * f * f;
  const float r = z * (((0.235821555f * z + 0.285373083f) * z + 0.400003352f) * z + 0.666666656f);
  const float e = (float)(is_small ? n - 25 : n);
  const float result = e * 0.693359375f - ((half - (s * (half + r) - e * 2.12194440e-4f)) - f);
  if (isnan(given) || AS_U32(given) == 0x7f800000u) return given;
  return given > 0 ? result : given == 0 ? -AS_F32(0x7f800000u) : AS_F32(0x7fc00000u);
})"},
    {"log1p", R"(
float log1p(float x) {
  const float u = 1.0f + x;
  if (u == 1.0f) return x;
  if (u == 0 || u > 1e30f) return log(u);
  return log(u) + (x - (u - 1.0f)) / u;
})"},
    {"__signed_as", "float __signed_as(float size, float x) { return AS_F32((AS_U32(size) & 0x7fffffffu) | (AS_U32(x) & 0x80000000u)); }"},
    {"tanh", R"(
float tanh(float x) {
  const float a = fabs(x), z = a * a;
  if (a < 0.625f)
    return __signed_as(a + a * z * ((((-0.00571703365f * z + 0.0206505762f) * z - 0.0537434943f) * z + 0.133314912f) * z - 0.333332839f), x);
  return isnan(x) ? x : __signed_as(1.0f - 2.0f / (exp(2.0f * a) + 1.0f), x);
})"},
    {"sinh", R"(
float sinh(float x) {
  const float a = fabs(x), z = a * a;
  if (a < 1.0f) return x + x * z * (((2.8174397e-06f * z + 0.000198360662f) * z + 0.0083333506f) * z + 0.166666665f);
  const float half = exp(0.5f * a);
  return isnan(x) ? x : __signed_as(0.5f * half * half - 0.5f / half / half, x);
})"},
    {"cosh", "float cosh(float x) { const float half = exp(0.5f * fabs(x)); return 0.5f * half * half + 0.5f / half / half; }"},
    {"asinh", R"(
float asinh(float x) {
  const float a = fabs(x);
  return isnan(x) ? x : __signed_as(a > 1e9f ? log(a) + 0.69314718f : log1p(a + a * a / (1.0f + sqrt(a * a + 1.0f))), x);
})"},
    {"acosh", R"(
float acosh(float x) {
  const float t = x - 1.0f;
  if (!(t >= 0)) return AS_F32(0x7fc00000u);
  return x > 1e9f ? log(x) + 0.69314718f : log1p(t + sqrt(2.0f * t + t * t));
})"},
    {"atanh", R"(
float atanh(float x) {
  const float a = fabs(x);
  if (!(a <= 1)) return AS_F32(0x7fc00000u);
  return __signed_as(0.5f * log1p(2.0f * a / (1.0f - a)), x);
})"},
    {"__asin_small", R"(
float __asin_small(float x) {
  const float z = x * x;
  return x + x * z * ((((0.0422305242f * z + 0.0241410008f) * z + 0.0454783413f) * z + 0.0749523267f) * z + 0.166667541f);
})"},
    {"asin", R"(
float asin(float x) {
  const float a = fabs(x);
  if (!(a <= 1)) return AS_F32(0x7fc00000u);
  if (a <= 0.5f) return __asin_small(x);
  return __signed_as(1.57079633f - 2.0f * __asin_small(sqrt(0.5f * (1.0f - a))), x);
})"},
    {"acos", R"(
float acos(float x) {
  const float a = fabs(x);
  if (!(a <= 1)) return AS_F32(0x7fc00000u);
  if (a <= 0.5f) return 1.57079633f - __asin_small(x);
  const float part = 2.0f * __asin_small(sqrt(0.5f * (1.0f - a)));
  return x > 0 ? part : 3.14159265f - part;
})"},
    {"atan", R"(
float atan(float x) {
  const float a = fabs(x);
  if (isnan(x)) return x;
  const int is_large = a > 1.0f;
  const float inverse = is_large ? 1.0f / a : a;  // 0 for infinity
  const int is_middle = inverse > 0.41421356f;
  const float r = is_middle ? (inverse - 1.0f) / (inverse + 1.0f) : inverse, z = r * r;
  const float p = r + r * z * (((0.0806021888f * z - 0.138798234f) * z + 0.199779237f) * z - 0.333329552f);
  const float of_inverse = is_middle ? 0.785398163f + p : p;
  return __signed_as(is_large ? 1.57079633f - of_inverse : of_inverse, x);
})"},
    // x less n quarters of a circle. n pi / 2 is taken off in three parts, of which the first two are exact for n up to 2^13; n / 4 is not
    // wanted. Beyond that, x / 2 pi is an integer of 32 bits times 96 bits of 1 / 2 pi (Payne and Hanek 1983).
    {"__turned", R"(
float __turned(float x) {
  const float n = rint(x * 0.636619772f);
  return ((x - n * 1.5703125f) - n * 4.83751297e-4f) - n * 7.54978995e-8f;
})"},
    {"__turned_far", R"(
u64 __turned_far(float x) {
  const u32 digits[8] = {0, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u, 0x7f9458eau};
  const u32 bits = AS_U32(x), whole = (bits << 8) | 0x80000000u;
  const int exponent = (int)((bits >> 23) & 255) - 126, first = exponent / 32, by = exponent % 32;
  u32 high = digits[first], middle = digits[first + 1], low = digits[first + 2];
  if (by) {
    high = (high << by) | (middle >> (32 - by));
    middle = (middle << by) | (low >> (32 - by));
    low = (low << by) | (digits[first + 3] >> (32 - by));
  }
  return ((u64)(whole * high) << 32) + (u64)whole * middle + (((u64)whole * low) >> 32);
})"},
    // The sine of x, or of x and a quarter of a circle more; the tangent is their quotient.
    {"__sine", R"(
float __sine(float x, int quarters) {
  const float a = fabs(x);
  if (!(a < AS_F32(0x7f800000u))) return AS_F32(0x7fc00000u);
  int n = (int)rint(a * 0.636619772f);
  float r = 0;
  if (a < 8192.0f) {
    r = __turned(a);
  } else {
    const u64 turns = __turned_far(a);  // in units of 2^-62 quarters
    const i64 rest = (i64)(turns << 2);
    n = (int)(u32)(turns >> 62) + (rest < 0 ? 1 : 0);
    r = (float)rest * 8.51530396e-20f;  // pi / 2^65
  }
  if (!quarters) n += x < 0 ? 2 : 0;
  n += quarters;
  const float z = r * r;
  const float sine = r + r * z * ((-0.000195166543f * z + 0.00833217353f) * z - 0.166666549f);
  const float cosine = 1.0f - 0.5f * z + z * z * ((2.44377275e-05f * z - 0.00138873614f) * z + 0.0416666467f);
  const float size = n & 1 ? cosine : sine;
  return n & 2 ? -size : size;
})"},
    {"sin", "float sin(float x) { return x == 0 ? x : __sine(x, 0); }"},
    {"cos", "float cos(float x) { return __sine(x, 1); }"},
    {"tan", "float tan(float x) { return x == 0 ? x : __sine(x, 0) / __sine(x, 1); }"},
    {"erf", R"(
float erf(float x) {
  const float a = fabs(x), z = x * x;
  if (a < 0.92f)
    return x * ((((((8.34522396e-05f * z - 0.000813743732f) * z + 0.00520063428f) * z - 0.0268592708f) * z + 0.112836939f) * z - 0.376126337f) * z + 1.12837917f);
  if (isnan(x)) return x;
  if (a > 4.0f) return __signed_as(1.0f, x);
  const float p = ((((((2.11619226e-05f * a - 0.000435219064f) * a + 0.00417464384f) * a - 0.0251286266f) * a + 0.10829395f) * a + 0.63333465f) * a + 1.12952082f) * a - 0.000175874804f;
  return __signed_as(1.0f - exp(-p), x);
})"},
    // 2^(y log2 x), whose exponent is computed from parts of 12 bits with exact products.
    {"__upper", "float __upper(float x) { return AS_F32(AS_U32(x) & 0xfffff000u); }"},
    {"__power", R"(
float __power(float x, float y) {
  const int is_small = x < 1.17549435e-38f;
  const u32 bits = AS_U32(is_small ? x * 33554432.0f : x);
  const int exponent = (int)((bits + 0x4afb0du) >> 23) - 127;
  const float m = AS_F32(bits - ((u32)exponent << 23)), f = m - 1.0f, n = (float)(is_small ? exponent - 25 : exponent);
  const float sum = m + 1.0f, sum_high = __upper(sum), sum_low = m - (sum_high - 1.0f);
  const float s = f / sum, s_high = __upper(s), s_low = ((f - s_high * sum_high) - s_high * sum_low) / sum, z = s * s;
  const float r = s * z * (((0.235821555f * z + 0.285373083f) * z + 0.400003352f) * z + 0.666666656f);
  const float a = 2.884765625f * s_high, b = 2.88539008f * s_low + 6.24456778e-4f * s_high + 1.44269504f * r;
  const float a_high = __upper(a), l_low = (a - a_high) + b;
  const float rough = y * (n + (a_high + l_low));
  if (rough > 129.0f) return AS_F32(0x7f800000u);
  if (rough < -152.0f) return 0;
  const float y_high = __upper(y), y_low = y - y_high, k = rint(rough);
  const float t = ((y_high * n - k) + y_high * a_high) + (y_low * n + y_low * a_high + y * l_low);
  const float p = 1.0f + t * ((((((1.53280394e-05f * t + 0.000154804919f) * t + 0.00133333716f) * t + 0.00961799405f) * t + 0.0555041104f) * t + 0.240226514f) * t + 0.693147181f);
  return __scaled(p, (int)k);
})"},
    {"pow", R"(
float pow(float x, float y) {
  if (y == 0 || x == 1.0f) return 1;
  if (isnan(x) || isnan(y)) return x + y;
  const float a = fabs(x), size_of_y = fabs(y), infinity = AS_F32(0x7f800000u);
  const int is_whole = floor(y) == y, is_odd = is_whole && size_of_y < 16777216.0f && ((int)size_of_y & 1) != 0;
  float result = 0;
  if (a == 0 || a == infinity) result = (a == 0) == (y < 0) ? infinity : 0;
  else if (size_of_y > 1e11f) result = a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0) ? infinity : 0;
  else if (x < 0 && !is_whole) return AS_F32(0x7fc00000u);
  else result = __power(a, y);
  return is_odd ? __signed_as(result, x) : result;
})"},
    // Exact: the dividend loses the divisor times powers of two. A subnormal divisor is made normal before, so that its exponent tells its
    // size.
    {"__reduced", R"(
float __reduced(float a, float b) {
  const int by = AS_U32(b) < 0x800000u ? 23 : 0;
  const float normal = __scaled(b, by);
  for (int k = (int)(AS_U32(a) >> 23) - (int)(AS_U32(normal) >> 23); k >= -by; --k) {
    const float part = __scaled(normal, k);
    if (a >= part) a -= part;
  }
  return a;
})"},
    {"fmod", R"(
float fmod(float x, float y) {
  const float a = fabs(x), b = fabs(y);
  if (isnan(x) || isnan(y) || b == 0 || a == AS_F32(0x7f800000u)) return AS_F32(0x7fc00000u);
  return a < b ? x : __signed_as(__reduced(a, b), x);
})"},
    {"fmin", "float fmin(float a, float b) { return isnan(a) || b < a ? b : a; }"},
    {"fmax", "float fmax(float a, float b) { return isnan(a) || b > a ? b : a; }"},
};

}  // namespace

std::string_view library_function(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.text;
  return {};
}

std::string library_text() {
  std::string text(kShaderPrefix);
  for (const Row& row : kRows) text += row.text;
  return text;
}

}  // namespace minnow::gpu

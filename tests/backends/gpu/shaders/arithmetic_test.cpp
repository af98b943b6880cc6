// SPDX-License-Identifier: Apache-2.0
// Small kernels on the devices that this machine has, compared with the same C++ on the processor. OpenCL compiles the dialect by a
// compiler of its own, so it shows that the kernels themselves are right; Vulkan and OpenGL ES run shaders.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/schemes/lines.h"
#include "base/error.h"
#include "runtime/backends.h"

namespace minnow::gpu {
namespace {

class Arithmetic : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override try { backend_ = make_backend(GetParam(), {}); } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }

  Queue& queue() { return static_cast<GpuBackend&>(*backend_).queue(); }

  template <class T>
  std::shared_ptr<void> upload(const std::vector<T>& values) {
    std::shared_ptr<void> memory = queue().allocate(std::max<size_t>(values.size() * sizeof(T), 1));
    queue().copy_from_host(memory.get(), values.data(), values.size() * sizeof(T));
    return memory;
  }

  void launch(const std::string& source, std::vector<const void*> buffers, std::vector<int32_t> numbers, uint32_t items,
              uint32_t group = 64) {
    const Extent groups = {(items + group - 1) / group, 1, 1}, each = {group, 1, 1};
    const std::unique_ptr<Function> function = queue().function(source, "k", 0, each, groups);
    queue().compile();
    std::vector<Argument> arguments;
    for (const void* buffer : buffers) arguments.push_back({Argument::Kind::buffer, {.address = buffer}});
    for (const int32_t number : numbers) arguments.push_back({Argument::Kind::i32, {.i32 = number}});
    ASSERT_TRUE(queue().launch(*function, groups, each, arguments));
    queue().finish();
  }

  // y[i] of a kernel with this body over a[i] and b[i]; types are the dialect's.
  template <class Y, class A, class B>
  std::vector<Y> map(const std::string& a_type, const std::string& b_type, const std::string& y_type, const std::string& body,
                     const std::vector<A>& a, const std::vector<B>& b, const std::string& functions = {}) {
    const std::string source = functions + "\nKERNEL(k)(READ(" + a_type + ", a), READ(" + b_type + ", b), WRITE(" + y_type +
                               ", y), const int n) {\n  USE_READ(" + a_type + ", a);\n  USE_READ(" + b_type + ", b);\n  USE_WRITE(" +
                               y_type + ", y);\n  const int i = GROUP(0) * ITEMS(0) + ITEM(0);\n  if (i >= n) return;\n" + body + "\n}\n";
    std::vector<Y> y(a.size(), Y());
    const auto a_memory = upload(a), b_memory = upload(b), y_memory = upload(y);
    launch(source, {a_memory.get(), b_memory.get(), y_memory.get()}, {static_cast<int32_t>(a.size())}, static_cast<uint32_t>(a.size()));
    queue().copy_to_host(y.data(), y_memory.get(), y.size() * sizeof(Y));
    queue().finish();
    return y;
  }

  // Operations on all pairs of awkward values.
  template <class T>
  void check_integers(const std::string& type) {
    std::vector<T> values = {
        0, 1, 2, 3, 7, 31, 100, 255, 256, 65535, 65536, 1000003, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
    for (const int shift : {31, 32, 33, 62})
      if (static_cast<size_t>(shift) < sizeof(T) * 8 - 1) values.push_back(T{1} << shift), values.push_back((T{1} << shift) - 1);
    for (size_t i = 0, count = values.size(); i < count; ++i) values.push_back(static_cast<T>(0 - std::make_unsigned_t<T>(values[i])));
    using Wide = std::make_unsigned_t<T>;
    std::vector<T> a, b;
    for (const T x : values)
      for (const T y : values) a.push_back(x), b.push_back(y);
    struct Case {
      const char* text;
      T (*host)(T, T);
    };
    const Case cases[] = {
        {"a[i] + b[i]", [](T x, T y) { return static_cast<T>(Wide(x) + Wide(y)); }},
        {"a[i] - b[i]", [](T x, T y) { return static_cast<T>(Wide(x) - Wide(y)); }},
        {"a[i] * b[i]", [](T x, T y) { return static_cast<T>(Wide(x) * Wide(y)); }},
        {"a[i] & b[i]", [](T x, T y) { return static_cast<T>(x & y); }},
        {"a[i] | b[i]", [](T x, T y) { return static_cast<T>(x | y); }},
        {"a[i] ^ b[i]", [](T x, T y) { return static_cast<T>(x ^ y); }},
        {"~a[i]", [](T x, T) { return static_cast<T>(~x); }},
        {"0 - a[i]", [](T x, T) { return static_cast<T>(0 - Wide(x)); }},
        {"a[i] < b[i]", [](T x, T y) { return static_cast<T>(x < y); }},
        {"a[i] <= b[i]", [](T x, T y) { return static_cast<T>(x <= y); }},
        {"a[i] > b[i]", [](T x, T y) { return static_cast<T>(x > y); }},
        {"a[i] >= b[i]", [](T x, T y) { return static_cast<T>(x >= y); }},
        {"a[i] == b[i]", [](T x, T y) { return static_cast<T>(x == y); }},
        {"a[i] != b[i]", [](T x, T y) { return static_cast<T>(x != y); }},
        {"(!a[i] && b[i]) || a[i] < 3", [](T x, T y) { return static_cast<T>((!x && y) || x < 3); }},
        {"a[i] << (int)(b[i] & (sizeof_bits - 1))", [](T x, T y) { return static_cast<T>(Wide(x) << (Wide(y) % (sizeof(T) * 8))); }},
        {"a[i] >> (int)(b[i] & (sizeof_bits - 1))", [](T x, T y) { return static_cast<T>(x >> (Wide(y) % (sizeof(T) * 8))); }},
        {"b[i] == 0 ? 0 : a[i] / (b[i] == minus_one ? 1 : b[i])",
         [](T x, T y) { return static_cast<T>(y == 0 ? 0 : x / (y == static_cast<T>(-1) ? 1 : y)); }},
        {"b[i] == 0 ? 0 : a[i] % (b[i] == minus_one ? 1 : b[i])",
         [](T x, T y) { return static_cast<T>(y == 0 ? 0 : x % (y == static_cast<T>(-1) ? 1 : y)); }},
        {"a[i] / 7 * 10 + a[i] % 7", [](T x, T) { return static_cast<T>(Wide(x / 7) * 10 + Wide(x % 7)); }},
        {"a[i] > b[i] ? a[i] : b[i]", [](T x, T y) { return std::max(x, y); }},
        {"(T_)(float)(a[i] % 1000)", [](T x, T) { return static_cast<T>(static_cast<float>(x % 1000)); }},
    };
    const std::string definitions =
        "#define T_ " + type + "\n#define sizeof_bits " + std::to_string(sizeof(T) * 8) + "\n#define minus_one ((T_)-1)\n";
    for (const Case& each : cases) {
      const std::vector<T> y = map<T>(type, type, type, std::string("  y[i] = ") + each.text + ";", a, b, definitions);
      size_t wrong = 0;
      for (size_t i = 0; i < a.size(); ++i)
        if (const T expected = each.host(a[i], b[i]); y[i] != expected && ++wrong < 4)
          ADD_FAILURE() << type << ": " << each.text << " of " << a[i] << ", " << b[i] << " is " << y[i] << ", not " << expected;
    }
  }

  std::shared_ptr<Backend> backend_;
};

TEST_P(Arithmetic, words) {
  check_integers<int32_t>("i32");
  check_integers<uint32_t>("u32");
}

TEST_P(Arithmetic, integers_of_64_bits) {
  check_integers<int64_t>("i64");
  check_integers<uint64_t>("u64");
}

TEST_P(Arithmetic, conversions_wrap) {
  const std::vector<int64_t> values = {0,
                                       1,
                                       -1,
                                       127,
                                       128,
                                       255,
                                       256,
                                       -128,
                                       -129,
                                       32767,
                                       32768,
                                       65535,
                                       65536,
                                       -32769,
                                       2147483647,
                                       2147483648,
                                       -2147483648,
                                       -2147483649,
                                       4294967295,
                                       4294967296,
                                       int64_t{1} << 62,
                                       -(int64_t{1} << 62)};
  EXPECT_EQ(map<int8_t>("i64", "i64", "i8", "  y[i] = (i8)a[i];", values, values), std::vector<int8_t>(values.begin(), values.end()));
  EXPECT_EQ(map<uint8_t>("i64", "i64", "u8", "  y[i] = (u8)a[i];", values, values), std::vector<uint8_t>(values.begin(), values.end()));
  EXPECT_EQ(map<int16_t>("i64", "i64", "i16", "  y[i] = (i16)a[i];", values, values), std::vector<int16_t>(values.begin(), values.end()));
  EXPECT_EQ(map<uint16_t>("i64", "i64", "u16", "  y[i] = (u16)a[i];", values, values), std::vector<uint16_t>(values.begin(), values.end()));
  EXPECT_EQ(map<int32_t>("i64", "i64", "i32", "  y[i] = (i32)a[i];", values, values), std::vector<int32_t>(values.begin(), values.end()));
  EXPECT_EQ(map<float>("i64", "i64", "float", "  y[i] = (float)a[i];", values, values), std::vector<float>(values.begin(), values.end()));
  std::vector<int8_t> bytes;
  for (int v = -128; v < 128; ++v) bytes.push_back(static_cast<int8_t>(v));
  EXPECT_EQ(map<int64_t>("i8", "i8", "i64", "  y[i] = a[i];", bytes, bytes), std::vector<int64_t>(bytes.begin(), bytes.end()));
  std::vector<int32_t> squares;
  for (const int8_t v : bytes) squares.push_back((v + 300) * v);
  EXPECT_EQ(map<int32_t>("i8", "i8", "i32", "  y[i] = (a[i] + 300) * b[i];", bytes, bytes), squares);
}

TEST_P(Arithmetic, floats_become_integers_as_references_round_them) {
  const std::vector<float> values = {0,    -0.0f, 1.5f,  -1.5f,  2147483520, 2147483648, -2147483648,
                                     3e9f, -3e9f, 1e12f, -1e12f, 9.2e18f,    -9.2e18f,   NAN};
  std::vector<int64_t> wide;
  std::vector<int32_t> words;
  for (const float v : values) {
    wide.push_back(std::isnan(v) ? 0 : static_cast<int64_t>(v));
    words.push_back(static_cast<int32_t>(wide.back()));
  }
  EXPECT_EQ(map<int64_t>("float", "float", "i64", "  y[i] = I64_OF(a[i]);", values, values), wide);
  EXPECT_EQ(map<int32_t>("float", "float", "i32", "  y[i] = I32_OF(a[i]);", values, values), words);
}

TEST_P(Arithmetic, every_half_becomes_a_float_and_back) {
  if (GetParam() == std::string_view("opencl")) GTEST_SKIP() << "OpenCL lets drivers change the bits of NaN";
  std::vector<uint16_t> halves;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    if ((bits & 0x7c00) != 0x7c00 || (bits & 0x3ff) == 0 || (bits & 0x200))
      halves.push_back(static_cast<uint16_t>(bits));  // no signaling NaN
  EXPECT_EQ(map<uint16_t>("u16", "u16", "u16", "  y[i] = f32_to_f16(f16_to_f32(a[i]));", halves, halves), halves);
  const std::vector<float> floats = map<float>("u16", "u16", "float", "  y[i] = f16_to_f32(a[i]);", halves, halves);
  for (size_t i = 0; i < halves.size(); ++i) {
    const int exponent = halves[i] >> 10 & 31, mantissa = halves[i] & 1023;
    if (exponent == 31) continue;
    const double size = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
    ASSERT_EQ(floats[i], static_cast<float>(halves[i] & 0x8000 ? -size : size)) << halves[i];
  }
}

TEST_P(Arithmetic, halves_are_rounded_to_nearest_even) {
  std::mt19937 random(1);
  std::vector<float> values = {65504,
                               65519.99f,
                               65520,
                               65536,
                               1e30f,
                               std::ldexp(1.0f, -24),
                               std::ldexp(1.0f, -25),
                               std::ldexp(1.0001f, -25),
                               std::ldexp(1023.5f, -24),
                               std::ldexp(2047.5f, -25)};
  for (int i = 0; i < 20000; ++i) values.push_back(std::ldexp(static_cast<float>(random() >> 8), static_cast<int>(random() % 42) - 50));
  for (int i = 0; i < 2000; ++i)
    values.push_back(std::ldexp(static_cast<float>(random() % 4096) + 0.5f, static_cast<int>(random() % 8) - 16));
  const std::vector<uint16_t> halves = map<uint16_t>("float", "float", "u16", "  y[i] = f32_to_f16(a[i]);", values, values);
  for (size_t i = 0; i < values.size(); ++i) {
    const int exponent = std::max(std::ilogb(values[i]), -14);
    const double unit = std::ldexp(1.0, exponent - 10), rounded = std::nearbyint(values[i] / unit) * unit;
    const double got =
        halves[i] == 0x7c00 ? 65536 : std::ldexp((halves[i] >> 10 ? 1024 : 0) + (halves[i] & 1023), std::max(halves[i] >> 10, 1) - 25);
    ASSERT_EQ(got, std::min(rounded, 65536.0)) << values[i];
  }
}

TEST_P(Arithmetic, floats_are_those_of_the_processor) {
  if (GetParam() == std::string_view("opencl")) GTEST_SKIP() << "OpenCL C lets compilers contract sums";
  const std::vector<float> values = {0,        -0.0f,     1,   -1,       0.1f, 1e-20f, 3e38f, -3e38f,
                                     INFINITY, -INFINITY, NAN, 16777216, 2.5f, -2.5f,  0.5f,  1.5f};
  std::vector<float> a, b;
  for (const float x : values)
    for (const float y : values) a.push_back(x), b.push_back(y);
  struct Case {
    const char* text;
    float (*host)(float, float);
  };
  const Case cases[] = {
      {"a[i] + b[i]", [](float x, float y) { return x + y; }},
      {"a[i] * b[i] - a[i]", [](float x, float y) { return x * y - x; }},
      {"-a[i]", [](float x, float) { return -x; }},
      {"a[i] != a[i] ? 1 : 0", [](float x, float) { return x != x ? 1.0f : 0.0f; }},
      {"a[i] == a[i] && b[i] == b[i]", [](float x, float y) { return x == x && y == y ? 1.0f : 0.0f; }},
      {"a[i] < b[i] ? 1 : a[i] > b[i] ? 2 : a[i] == b[i] ? 3 : 4",
       [](float x, float y) {
         return x < y ? 1.0f : x > y ? 2.0f : x == y ? 3.0f : 4.0f;
       }},
      {"!(a[i] <= b[i])", [](float x, float y) { return !(x <= y) ? 1.0f : 0.0f; }},
      {"!(a[i] >= b[i])", [](float x, float y) { return !(x >= y) ? 1.0f : 0.0f; }},
      {"a[i] != b[i]", [](float x, float y) { return x != y ? 1.0f : 0.0f; }},
      {"rint(a[i]) + floor(b[i]) * ceil(b[i])", [](float x, float y) { return std::nearbyint(x) + std::floor(y) * std::ceil(y); }},
      {"isnan(a[i]) || isinf(b[i])", [](float x, float y) { return std::isnan(x) || std::isinf(y) ? 1.0f : 0.0f; }},
      {"fmin(fmax(a[i], 0.0f), 2.0f)", [](float x, float) { return std::fmin(std::fmax(x, 0.0f), 2.0f); }},
      {"BOUNDED(a[i])", [](float x, float) { return x < 0   ? 0.0f
                                                    : x > 1 ? 1.0f
                                                            : x; }},
  };
  for (const Case& each : cases) {
    const std::vector<float> y = map<float>("float", "float", "float", std::string("  y[i] = ") + each.text + ";", a, b);
    size_t wrong = 0;
    for (size_t i = 0; i < a.size(); ++i)
      if (const float expected = each.host(a[i], b[i]); y[i] != expected && !(std::isnan(y[i]) && std::isnan(expected)) && ++wrong < 4)
        ADD_FAILURE() << each.text << " of " << a[i] << ", " << b[i] << " is " << y[i] << ", not " << expected;
  }
}

TEST_P(Arithmetic, functions_are_accurate) {
  if (GetParam() == std::string_view("gles")) GTEST_SKIP() << "OpenGL ES lets drivers contract sums";
  std::mt19937 random(3);
  std::uniform_real_distribution<float> unit(-1, 1), wide(-90, 90);
  std::vector<float> a = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 8191.5f, 8193, 1e5f, 1e10f, 1e30f, 0.625f, 0.92f, 4.01f, 1e-30f};
  std::vector<float> b(a.size(), 1.5f);
  for (int i = 0; i < 20000; ++i)
    a.push_back(i % 3 == 0   ? unit(random)
                : i % 3 == 1 ? wide(random)
                             : std::exp(wide(random))),
        b.push_back(i % 2 ? std::rint(wide(random) / 9) : wide(random) / 9);
  struct Case {
    const char* text;
    double (*host)(double, double);
    double units;
  };
  const Case cases[] = {
      {"exp(a[i])", [](double x, double) { return std::exp(x); }, 4},
      {"log(a[i])", [](double x, double) { return std::log(x); }, 4},
      {"log1p(a[i])", [](double x, double) { return std::log1p(x); }, 4},
      {"tanh(a[i])", [](double x, double) { return std::tanh(x); }, 6},
      {"sinh(a[i])", [](double x, double) { return std::sinh(x); }, 6},
      {"cosh(a[i])", [](double x, double) { return std::cosh(x); }, 6},
      {"asinh(a[i])", [](double x, double) { return std::asinh(x); }, 6},
      {"acosh(a[i])", [](double x, double) { return std::acosh(x); }, 6},
      {"atanh(a[i])", [](double x, double) { return std::atanh(x); }, 6},
      {"asin(a[i])", [](double x, double) { return std::asin(x); }, 6},
      {"acos(a[i])", [](double x, double) { return std::acos(x); }, 6},
      {"atan(a[i])", [](double x, double) { return std::atan(x); }, 6},
      {"sin(a[i])", [](double x, double) { return std::sin(x); }, 6},
      {"cos(a[i])", [](double x, double) { return std::cos(x); }, 100},
      {"tan(a[i])", [](double x, double) { return std::tan(x); }, 100},
      {"erf(a[i])", [](double x, double) { return std::erf(x); }, 16},
      {"pow(a[i], b[i])", [](double x, double y) { return std::pow(x, y); }, 16},
      {"fmod(a[i], b[i])", [](double x, double y) { return std::fmod(x, y); }, 0},
      {"sqrt(a[i])", [](double x, double) { return std::sqrt(x); }, 4},
      {"a[i] / b[i]", [](double x, double y) { return x / y; }, 4},
  };
  for (const Case& each : cases) {
    const std::vector<float> y = map<float>("float", "float", "float", std::string("  y[i] = ") + each.text + ";", a, b);
    size_t wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double expected = each.host(a[i], b[i]);
      const float rounded = static_cast<float>(expected);
      if (std::isnan(rounded) ? std::isnan(y[i]) : std::isinf(rounded) ? y[i] == rounded : false) continue;
      const double unit_of = std::ldexp(1.0, std::max(std::ilogb(std::max(std::fabs(expected), 1e-37)), -124) - 23);
      if (!(std::fabs(y[i] - expected) <= each.units * unit_of) && ++wrong < 4)
        ADD_FAILURE() << each.text << " of " << a[i] << ", " << b[i] << " is " << y[i] << ", not " << expected;
    }
  }
}

TEST_P(Arithmetic, quotients_are_those_of_the_processor_to_the_bit) {
  std::vector<float> edges;
  for (const uint32_t bits :
       {0x00000000u, 0x00000001u, 0x00000002u, 0x00000003u, 0x00400000u, 0x007ffffeu, 0x007fffffu, 0x00800000u, 0x00800001u, 0x00ffffffu,
        0x01000000u, 0x33800000u, 0x34000000u, 0x3effffffu, 0x3f000000u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x3fffffffu, 0x40400000u,
        0x40490fdbu, 0x437f0000u, 0x4b7fffffu, 0x7e800000u, 0x7effffffu, 0x7f000000u, 0x7f7ffffeu, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u})
    for (const uint32_t sign : {0u, 0x80000000u}) edges.push_back(std::bit_cast<float>(bits | sign));
  std::vector<float> a, b;
  for (const float x : edges)
    for (const float y : edges) a.push_back(x), b.push_back(y);
  std::mt19937 random(5);
  const auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
  const auto between = [&](uint32_t low, uint32_t high) {  // by exponents
    return std::bit_cast<float>((static_cast<uint32_t>(random()) & 0x807fffffu) | (low + static_cast<uint32_t>(random()) % (high - low))
                                                                                      << 23);
  };
  for (int i = 0; i < 200000; ++i) a.push_back(any()), b.push_back(any());
  for (int i = 0; i < 200000; ++i) a.push_back(between(120, 135)), b.push_back(between(120, 135));
  for (int i = 0; i < 100000; ++i) a.push_back(between(0, 40)), b.push_back(between(130, 190));  // subnormal results
  for (int i = 0; i < 50000; ++i) a.push_back(between(0, 2)), b.push_back(between(0, 200));
  for (int i = 0; i < 50000; ++i) a.push_back(between(200, 255)), b.push_back(between(0, 80));
  // Close to the middle of two floats, and to floats: products of short numbers, and their neighbours.
  for (int i = 0; i < 200000; ++i) {
    const uint32_t x = static_cast<uint32_t>(random()) & 0xfff, y = static_cast<uint32_t>(random()) & 0xfff;
    const uint32_t near = std::bit_cast<uint32_t>(static_cast<float>(x * y + 1)) + static_cast<uint32_t>(random()) % 3 - 1;
    a.push_back(std::ldexp(std::bit_cast<float>(near), i % 7 == 0 ? -140 : 0)), b.push_back(static_cast<float>(y));
  }
  const std::vector<float> y = map<float>("float", "float", "float", "  y[i] = QUOTIENT(a[i], b[i]);", a, b);
  size_t wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float expected = a[i] / b[i];
    if (std::isnan(expected) ? !std::isnan(y[i]) : std::bit_cast<uint32_t>(y[i]) != std::bit_cast<uint32_t>(expected))
      if (++wrong < 10) ADD_FAILURE() << std::hexfloat << a[i] << " / " << b[i] << " is " << y[i] << ", not " << expected;
  }
  EXPECT_EQ(wrong, 0u) << "of " << a.size();
}

// The same text as the dialect and as C++.
#define UNROLL
#define MINNOW_FLOW(name, text, ...)     \
  int name(int a, int b) { __VA_ARGS__ } \
  const char* const text = #__VA_ARGS__;
MINNOW_FLOW(
    flow, kFlow, int sum = 0, table[3][4], last = -1; for (int r = 0; r < 3; ++r) for (int c = 0; c < 4; ++c) table[r][c] = r * a + c * b;
    const int bias[2] = {a - b, 7}; for (int k = 0; k < 20; ++k) {
      if (k == b) continue;
      if (sum > 1000) break;
      for (int j = k; j < 10; j += 3) {
        if (j == 5) break;
        sum += j;
      }
      sum += table[k % 3][(k + a) & 3] * (k & 1 ? 1 : -1);
    } do {
      sum -= 3;
      last = sum--;
      if (last == a) break;
    } while (sum > b && sum-- > 50);
    while (last > 100) {
      last /= 2;
      if (last % 7 == 3) return last;
    } int chained = sum = last + 1;
    chained += sum, last <<= 1; sum ^= ~bias[a > b ? 0 : 1]; for (;;) {
      if (++chained > 20) break;
      if (chained % 5 == 0) {
        last |= 64;
        continue;
      }
      last += chained++;
    } if (a < 0 && b) { sum = -sum; } else if (!a || b > 3) sum += 100;
    else {
      int sum = 5;
      last += sum;
    } return a == 3
        ? (b > 2 ? sum * last : last)
    : (a > 4 && sum / (a - 4) > 2) || last == 3 ? sum + last
                                                : chained - sum;)

MINNOW_FLOW(
    written_out, kWrittenOut, int t[3][4], sum = b;
    UNROLL for (int r = 0; r < 3; ++r) UNROLL for (int c = 0; c < 4; c += 1) t[r][c] = a * r + c; UNROLL for (int k = 0; k < 20; k += 3) {
      if (k == 6) continue;
      sum += k;
    } UNROLL for (int k = 1; k < 6; k += 2) {
      for (int j = 0; j < 9; ++j) {
        if (j == k) break;
        sum += j * a;
      }
      if (sum > 150) return k;
    } UNROLL for (int k = 0; k < 5; ++k) {
      if (a == k) ++k;
      sum += k;
    } UNROLL for (int k = 0; k < 0; ++k) sum = 0;
    UNROLL for (int k = -2; k < 2 + 2; k += 4) {
      const int twice = 2 * k;
      sum += twice;
    } UNROLL for (int k = 3; k > 0; --k) sum -= k;
    return sum + t[a & 1][a & 3];)
#undef MINNOW_FLOW
#undef UNROLL

TEST_P(Arithmetic, control_flow_is_that_of_c) {
  std::vector<int32_t> a, b, expected;
  for (int x = -6; x < 12; ++x)
    for (int y = -6; y < 12; ++y) a.push_back(x), b.push_back(y), expected.push_back(flow(x, y));
  EXPECT_EQ(
      map<int32_t>("i32", "i32", "i32", "  y[i] = flow(a[i], b[i]);", a, b, std::string("INLINE int flow(int a, int b) {") + kFlow + "}"),
      expected);
}

TEST_P(Arithmetic, loops_may_be_written_out) {
  std::vector<int32_t> a, b, expected;
  for (int x = -3; x < 9; ++x)
    for (int y = -6; y < 12; ++y) a.push_back(x), b.push_back(y), expected.push_back(written_out(x, y));
  EXPECT_EQ(map<int32_t>("i32", "i32", "i32", "  y[i] = written_out(a[i], b[i]);", a, b,
                         std::string("INLINE int written_out(int a, int b) {") + kWrittenOut + "}"),
            expected);
}

TEST_P(Arithmetic, sides_of_a_choice_are_computed_only_where_they_are_needed) {
  std::vector<int32_t> a(100), b(100), expected(100);
  for (int i = 0; i < 100; ++i)
    a[static_cast<size_t>(i)] = i % 3, b[static_cast<size_t>(i)] = i,
    expected[static_cast<size_t>(i)] = (i % 3 ? 100 + i : i) + (i % 3 == 1 ? 2 : 0);
  EXPECT_EQ(map<int32_t>("i32", "i32", "i32",
                         "  int count = b[i]; const int zero = a[i] && (count += 100) > 0 ? 0 : 0;\n  a[i] == 1 ? (count += 2) : 0;\n"
                         "  y[i] = count + zero;",
                         a, b),
            expected);
}

TEST_P(Arithmetic, neighbouring_bytes_are_stored_by_different_items) {
  for (const std::string type : {"u8", "u16"}) {
    std::vector<uint8_t> bytes(1000), doubled(1000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7), doubled[i] = static_cast<uint8_t>(i * 7 + 1);
    if (type == "u8") {
      EXPECT_EQ(map<uint8_t>("u8", "u8", "u8", "  y[i] = (u8)(a[i] + 1);", bytes, bytes), doubled);
    } else {
      const std::vector<uint16_t> a(bytes.begin(), bytes.end());
      std::vector<uint16_t> expected;
      for (const uint16_t v : a) expected.push_back(static_cast<uint16_t>(v * 300));
      EXPECT_EQ(map<uint16_t>("u16", "u16", "u16", "  y[i] = (u16)(a[i] * 300);", a, a), expected);
    }
  }
}

TEST_P(Arithmetic, buffers_begin_within_an_allocation) {
  std::vector<uint8_t> bytes(64), result(64, 0);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  const auto x = upload(bytes), y = upload(result);
  launch(
      "KERNEL(k)(READ(u8, x), WRITE(u8, y), const int n) { USE_READ(u8, x); USE_WRITE(u8, y); const int i = GROUP(0) * ITEMS(0) + ITEM(0); "
      "if (i < n) y[i] = x[i]; }",
      {static_cast<const char*>(x.get()) + 7, static_cast<const char*>(y.get()) + 18}, {21}, 21);
  queue().copy_to_host(result.data(), y.get(), result.size());
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(result[i], i >= 18 && i < 39 ? i - 11 : 0) << i;
}

TEST_P(Arithmetic, items_of_a_group_share_memory) {
  std::vector<float> x(1000), y(4, 0);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto from = upload(x), to = upload(y);
  launch(R"(
INLINE float group_sum(float mine, LOCAL_PARAMETER float* shared) {
  const int item = ITEM(0);
  BARRIER();
  shared[item] = mine;
  BARRIER();
  for (int step = ITEMS(0) / 2; step > 0; step /= 2) {
    if (item < step) shared[item] += shared[item + step];
    BARRIER();
  }
  return shared[0];
}
KERNEL(k)(READ(float, x), WRITE(float, y)) {
  USE_READ(float, x);
  USE_WRITE(float, y);
  LOCAL float first[256], both[2][256];
  LOCAL_FOURS(fours, 256);
  const int at = GROUP(0) * 250 + ITEM(0);
  fours[ITEM(0)] = ITEM(0) < 250 ? x[at] : 0;
  BARRIER();
  float four[8];
  LOAD_FOUR(four + 4, fours + ITEM(0) / 4 * 4);
  both[1][ITEM(0)] = four[4 + ITEM(0) % 4];
  const float sum = group_sum(both[1][ITEM(0)], first);
  const float again = group_sum(2 * sum / 256, fours);
  if (ITEM(0) != 0) return;
  y[GROUP(0)] = again;
}
)",
         {from.get(), to.get()}, {}, 4 * 256, 256);
  queue().copy_to_host(y.data(), to.get(), y.size() * sizeof(float));
  for (size_t group = 0; group < 4; ++group)
    EXPECT_EQ(y[group], 2.0f * (250.0f * static_cast<float>(group * 250) + 249.0f * 125.0f)) << group;
}

// Group 0 has ordinary numbers; groups from 1 on have one infinity or NaN each, the last one negative zeros alone.
TEST_P(Arithmetic, items_of_a_group_join_their_numbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const uint32_t items : {32u, 64u, 256u}) {
    constexpr uint32_t kGroups = 6;
    std::vector<float> x(kGroups * items), y(kGroups * 4, -1.0f);
    for (uint32_t i = 0; i < x.size(); ++i) x[i] = i % items == 7 ? 1.5f : i % 3 ? 1.0f : -1.0f;
    for (uint32_t i = 0; i < items; ++i) x[5 * items + i] = -0.0f;
    x[1 * items + 3] = kInfinity, x[2 * items + items - 1] = -kInfinity, x[3 * items + 31] = kNaN, x[4 * items] = -kNaN;
    const auto from = upload(x), to = upload(y);
    launch(std::string(kGroupReductions) + R"(
REDUCE(group_sum, SUM)
REDUCE(group_product, PRODUCT)
REDUCE(group_most, MOST)
REDUCE(group_least, LEAST)
KERNEL(k)(READ(float, x), WRITE(float, y)) {
  USE_READ(float, x);
  USE_WRITE(float, y);
  LOCAL float shared[256];
  const float mine = x[GROUP(0) * ITEMS(0) + ITEM(0)];
  const float sum = group_sum(mine, shared), product = group_product(mine, shared);
  const float most = group_most(mine, shared), least = group_least(mine, shared);
  if (ITEM(0) != ITEMS(0) - 1) return;
  y[GROUP(0) * 4] = sum, y[GROUP(0) * 4 + 1] = product, y[GROUP(0) * 4 + 2] = most, y[GROUP(0) * 4 + 3] = least;
}
)",
           {from.get(), to.get()}, {}, kGroups * items, items);
    queue().copy_to_host(y.data(), to.get(), y.size() * sizeof(float));
    for (uint32_t group = 0; group < kGroups; ++group) {
      float sum = 0, product = 1, most = -kInfinity, least = kInfinity;
      for (uint32_t i = 0; i < items; ++i) {
        const float v = x[group * items + i];
        sum += v, product *= v;
        most = std::isnan(v) || v > most ? v : most, least = std::isnan(v) || v < least ? v : least;
      }
      if (group == 3 || group == 4) most = least = kNaN;
      const float expected[] = {sum, product, most, least};
      for (uint32_t k = 0; k < 4; ++k)
        if (std::isnan(expected[k]))
          EXPECT_TRUE(std::isnan(y[group * 4 + k])) << items << " items, group " << group << ", result " << k << ": " << y[group * 4 + k];
        else
          EXPECT_EQ(y[group * 4 + k], expected[k]) << items << " items, group " << group << ", result " << k;
    }
  }
}

TEST_P(Arithmetic, items_add_to_one_place) {
  std::vector<float> y(3, 0.5f);
  const auto to = upload(y);
  launch(R"(
KERNEL(k)(WRITE(float, y), const int n) {
  USE_WRITE(float, y);
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  GLOBAL volatile u32* place = (GLOBAL volatile u32*)(y + i % 3);
  u32 old = *place, seen;
  do {
    seen = old;
    old = COMPARE_EXCHANGE(place, seen, AS_U32(AS_F32(seen) + 1.0f));
  } while (old != seen);
}
)",
         {to.get()}, {3000}, 3000);
  queue().copy_to_host(y.data(), to.get(), y.size() * sizeof(float));
  for (const float v : y) EXPECT_EQ(v, 1000.5f);
}

INSTANTIATE_TEST_SUITE_P(Devices, Arithmetic, testing::Values("vulkan", "gles", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace minnow::gpu

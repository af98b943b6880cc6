// SPDX-License-Identifier: Apache-2.0
// Sources that the compiler accepts and refuses, and the interface of shaders. kernels_test.py validates the kernels of all operators;
// arithmetic_test.cpp runs shaders.
#include "backends/gpu/shaders/shader_compiler.h"

#include <gmock/gmock.h>

#include "backends/gpu/schemes/lines.h"
#include "backends/gpu/shaders/stored_shader.h"
#include "base/digest.h"
#include "base/error.h"

namespace minnow::gpu {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::string_view kSource = R"(
KERNEL(scale)(READ(MEM(f16), x), UPDATE(i64, places), WRITE(float, y), const int n, const float factor) {
  USE_READ(MEM(f16), x);
  USE_READ(i64, places);
  USE_WRITE(float, y);
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  y[i] = LOAD(f16, x, (int)places[i]) * factor;
}
)";

ShaderOptions everything() {
  ShaderOptions options;
  options.group = {64, 1, 1};
  options.has_i64 = options.has_8bit_storage = options.has_16bit_storage = options.has_signed_zero_inf_nan_preserve = true;
  return options;
}

// A kernel with this body, which may write floats to y and integers to z.
std::string with_body(std::string_view body, std::string_view functions = {}) {
  return std::string(functions) + "\nKERNEL(k)(READ(float, x), WRITE(float, y), WRITE(i32, z), WRITE(u8, b), const int n) {\n" +
         std::string(body) + "\n}\n";
}

TEST(ShaderCompiler, tells_the_interface) {
  const Shader shader = compile_to_spirv(kSource, "scale", everything());
  using Kind = Argument::Kind;
  EXPECT_THAT(shader.parameters, testing::ElementsAre(Kind::buffer, Kind::buffer, Kind::buffer, Kind::i32, Kind::f32));
  EXPECT_THAT(shader.element_bytes, testing::ElementsAre(2u, 8u, 4u, 0u, 0u));
  EXPECT_THAT(shader.writes, testing::ElementsAre(false, false, true, false, false));
  ASSERT_GT(shader.spirv.size(), 5u);
  EXPECT_EQ(shader.spirv[0], 0x07230203u);
  EXPECT_EQ(shader.spirv[1], 0x00010300u);
  const GlslShader text = compile_to_glsl_es(kSource, "scale", everything());
  EXPECT_EQ(text.parameters, shader.parameters);
  EXPECT_EQ(text.element_bytes, shader.element_bytes);
  EXPECT_THAT(text.text, HasSubstr("layout(location = 0) uniform highp uint words[5];"));
  EXPECT_THAT(text.text, HasSubstr("layout(std430, binding = 2)"));
}

TEST(ShaderCompiler, is_deterministic) {
  EXPECT_EQ(compile_to_spirv(kSource, "scale", everything()).spirv, compile_to_spirv(kSource, "scale", everything()).spirv);
  EXPECT_EQ(compile_to_glsl_es(kSource, "scale", everything()).text, compile_to_glsl_es(kSource, "scale", everything()).text);
}

// Files of compiled kernels keep shaders of earlier versions until their revision changes. If this test fails, raise kTranslation in
// stored_shader.cpp, and write its number and the digests here: one for each order in which compilers evaluate the arguments of a call, on
// which the order of equal instructions depends.
TEST(ShaderCompiler, translates_as_its_revision_says) {
  const std::string source = with_body(R"(
  LOCAL float shared[64];
  float part[2][3];
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  UNROLL for (int k = 0; k < 3; ++k) part[1][k] = twice(x[i] / (float)(k + 1));
  shared[ITEM(0)] = part[1][i % 3];
  BARRIER();
  i64 sum = 0;
  for (int k = 0; k < n; ++k) {
    if (k == i) continue;
    sum += (i64)k * i - (sum >> 3);
  }
  if (i < n) y[i] = shared[63 - ITEM(0)] > 0 && isnan(x[i]) ? FMA(x[i], 2.0f, (float)sum) : sqrt(fabs(x[i]));
  z[i] = (int)(sum % 7);
  b[i] = (u8)(AS_U32(x[i]) >> 9);)",
                                       "INLINE float twice(float v) { return v < 1 ? 2 * v : rint(v); }");
  uint64_t digest = 0;
  const auto add = [&](const void* data, size_t bytes) { digest = digest_of({static_cast<const std::byte*>(data), bytes}, digest); };
  ShaderOptions least;
  least.group = {64, 1, 1};
  least.group_offsets = true;
  least.push_constants = false;
  for (const ShaderOptions& options : {everything(), least}) {
    const std::vector<uint32_t> words = compile_to_spirv(source, "k", options).spirv;
    add(words.data(), words.size() * sizeof(uint32_t));
    const std::string text = compile_to_glsl_es(source, "k", options).text;
    add(text.data(), text.size());
  }
  EXPECT_THAT(shader_revision(), testing::StartsWith("translation 1,"));
  EXPECT_THAT(digest, testing::AnyOf(6787940610417065024u, 4619567207146236519u));  // g++, clang
}

TEST(ShaderCompiler, stored_shaders_come_back_and_cut_ones_do_not) {
  StoredShader shader;
  static_cast<ShaderInterface&>(shader.interface) = compile_to_spirv(kSource, "scale", everything());
  shader.pushes = false, shader.offsets = true;
  shader.code = "code", shader.data = std::string("\0data", 5);
  const std::string bytes = shader.to_bytes();
  StoredShader back;
  ASSERT_TRUE(back.read(std::as_bytes(std::span(bytes))));
  EXPECT_EQ(back.interface.parameters, shader.interface.parameters);
  EXPECT_EQ(back.interface.element_bytes, shader.interface.element_bytes);
  EXPECT_EQ(back.interface.writes, shader.interface.writes);
  EXPECT_FALSE(back.pushes);
  EXPECT_TRUE(back.offsets);
  EXPECT_EQ(back.code, shader.code);
  EXPECT_EQ(back.data, shader.data);
  EXPECT_EQ(back.buffers(), 3u);
  EXPECT_EQ(back.words(), 11u);
  for (size_t size = 0; size < bytes.size() - shader.data.size(); ++size)
    EXPECT_FALSE(back.read(std::as_bytes(std::span(bytes).first(size)))) << size;
}

TEST(ShaderCompiler, sources_of_programs_come_apart_again) {
  const ShaderSource given{"k", {64, 2, 1}, true, "first line\nsecond"};
  const ShaderSource back = ShaderSource::of(given.to_source());
  EXPECT_EQ(back.function, given.function);
  EXPECT_EQ(back.group, given.group);
  EXPECT_EQ(back.group_offsets, given.group_offsets);
  EXPECT_EQ(back.text, given.text);
}

// The modules that capabilities 4433 (halves), 4448 (bytes), 11 (integers of 64 bits) and 61, 63 and 64 (subgroups) are declared in.
TEST(ShaderCompiler, needs_no_capability_that_the_device_lacks) {
  const auto capabilities = [](const ShaderOptions& options, std::string_view source = kSource, std::string_view function = "scale") {
    std::vector<uint32_t> found;
    const std::vector<uint32_t> words = compile_to_spirv(source, function, options).spirv;
    for (size_t i = 5; i < words.size(); i += words[i] >> 16)
      if ((words[i] & 0xffff) == 17) found.push_back(words[i + 1]);
    return found;
  };
  EXPECT_THAT(capabilities(everything()), testing::UnorderedElementsAre(1u, 11u, 4433u, 4466u));
  ShaderOptions options;
  EXPECT_THAT(capabilities(options), testing::ElementsAre(1u));
  const std::string sums = with_body("LOCAL float shared[256]; y[GROUP(0)] = group_sum(x[ITEM(0)], shared);",
                                     std::string(kGroupReductions) + "REDUCE(group_sum, SUM)");
  EXPECT_THAT(capabilities(options, sums, "k"), testing::ElementsAre(1u));
  options.has_subgroups = true;
  EXPECT_THAT(capabilities(options), testing::ElementsAre(1u));
  EXPECT_THAT(capabilities(options, sums, "k"), testing::UnorderedElementsAre(1u, 61u, 63u, 64u));
}

TEST(ShaderCompiler, counts_shared_memory) {
  ShaderOptions options = everything();
  options.shared_bytes = 1024;
  const auto source = [](int count) { return with_body("LOCAL float s[" + std::to_string(count) + "]; s[ITEM(0)] = 0; BARRIER();"); };
  compile_to_spirv(source(256), "k", options);
  EXPECT_THAT([&] { compile_to_spirv(source(257), "k", options); }, ThrowsMessage<Unsupported>(HasSubstr("1028 bytes of shared memory")));
}

TEST(ShaderCompiler, errors_name_the_line_and_the_reason) {
  const auto error = [](std::string_view body, std::string_view expected, std::string_view functions = {}) {
    EXPECT_THAT([&] { compile_to_spirv(with_body(body, functions), "k", everything()); },
                ThrowsMessage<InternalError>(HasSubstr(std::string(expected))))
        << body;
  };
  error("\nint a = ;", "line 4 of a kernel: expected an expression, found ;");
  error("int a = unknown;", "line 3 of a kernel: there is no unknown");
  error("y[0] = g(1);", "there is no function g");
  error("int a = 1", "expected ;");
  error("if (n) {", "expected }");
  error("goto a;", "line 3");
  error("break;", "there is no loop to leave");
  error("continue;", "there is no loop to leave");
  error("return 1;", "a result is missing or too much");
  error("n = 1;", "n is a constant");
  error("y = 1;", "");
  error("int a[n];", "an array's size is not a positive constant");
  error("int a[-1];", "an array's size is not a positive constant");
  error("int a[2000][2000];", "an array is too large");
  error("int a[2]; a = 1;", "an array stands where a number is needed");
  error("int a = 1; a[0] = 2;", "a number is indexed");
  error("y[0] = x[0] % 2.0f;", "an operation on floats is one for integers");
  error("z[0] = 1 / 0;", "a constant is divided by 0");
  error("y[0] = f(1, 2);", "f takes 1 arguments", "float f(float a) { return a; }");
  error("y[0] = f(1);", "a function calls itself", "float f(float a) { return f(a); }");
  error("y[0] = f(1);", "ends without a result", "float f(float a) { a = 1; }");
  error("float a[2]; y[0] = f(a);", "a function's own array is passed on", "float f(float* a) { return a[0]; }");
  error("GLOBAL u8* p = (GLOBAL u8*)(y + 1);", "elements of another size");
  error("z[0] = GROUP(3);", "an axis is not 0, 1 or 2");
  error("z[0] = 12345678901234567890123;", "is not a number");
  error("z[0] = 1.2.3;", "is not a number");
  EXPECT_THAT([] { compile_to_spirv(kSource, "other", {}); }, ThrowsMessage<InternalError>(HasSubstr("no kernel other")));
}

TEST(ShaderCompiler, text_nested_deeply_is_an_error) {
  const auto deep = [](std::string_view open, std::string_view close) {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += open;
    text += "1";
    for (int i = 0; i < 20000; ++i) text += close;
    return with_body("z[0] = " + text + ";");
  };
  EXPECT_THROW(compile_to_spirv(deep("(", ")"), "k", {}), InternalError);
  EXPECT_THROW(compile_to_spirv(deep("-", ""), "k", {}), InternalError);
  EXPECT_THROW(compile_to_spirv(deep("1 ? 1 : ", ""), "k", {}), InternalError);
  EXPECT_THROW(compile_to_spirv(with_body(std::string(20000, '{')), "k", {}), InternalError);
  EXPECT_THROW(compile_to_spirv(deep("1 + ", ""), "k", {}), InternalError);
}

// Whatever is missing from a source, the compiler gives a shader or an error.
TEST(ShaderCompiler, damaged_sources_are_errors) {
  const std::string source =
      with_body(R"(
  LOCAL float s[16][17];
  const int bins[2] = {n, 3};
  for (int i = 0; i < n; ++i) { if (i == 3) continue; s[i % 16][0] += f(x[i]) * (i ? 1 : -bins[1]); }
  do { int j = n; j -= 1; if (j < 3 && x[j] != x[j]) break; } while (n > 3);
  BARRIER();
  y[n] = s[0][n] + LOAD(f32, x, 1);
  STORE(i8, b, 3, n >> 2 | 7);
)",
                "#define TWICE(a) ((a) + (a))\n#if 1\nfloat f(float a) { return TWICE(a) < 1 ? exp(a) : a; }\n#endif");
  compile_to_spirv(source, "k", everything());
  size_t errors = 0;
  const auto try_source = [&](const std::string& text) {
    for (const bool is_text : {false, true}) try {
        is_text ? (void)compile_to_glsl_es(text, "k", everything()) : (void)compile_to_spirv(text, "k", everything());
      } catch (const Error&) {
        ++errors;
      }
  };
  for (size_t i = 0; i < source.size(); ++i) {
    try_source(source.substr(0, i));
    try_source(source.substr(0, i) + source.substr(i + 1));
    try_source(source.substr(0, i) + "(" + source.substr(i));
  }
  EXPECT_GT(errors, source.size());
}

}  // namespace
}  // namespace minnow::gpu

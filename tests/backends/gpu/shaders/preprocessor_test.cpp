// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/preprocessor.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace minnow::gpu {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// The tokens, with blanks between them.
std::string expanded(std::string_view text) {
  Preprocessor preprocessor;
  preprocessor.add(text);
  std::string all;
  for (const Token& token : preprocessor.take()) all += (all.empty() ? "" : " ") + std::string(token.text);
  return all;
}

TEST(Preprocessor, numbers_names_and_punctuators_are_tokens) {
  EXPECT_EQ(expanded("a+=1.5f<<0x7fu;b.x"), "a += 1.5f << 0x7fu ; b . x");
  EXPECT_EQ(expanded("1e-5f-2 0x1e-1"), "1e-5f - 2 0x1e - 1");
  EXPECT_EQ(expanded("a // b\nc\\\nd"), "a c d");
}

TEST(Preprocessor, macros_are_expanded_again) {
  EXPECT_EQ(expanded("#define A B\n#define B 1\nA B"), "1 1");
  EXPECT_EQ(expanded("#define A 1\n#undef A\nA"), "A");
  EXPECT_EQ(expanded("#define F(a, b) (a + b)\nF(1, F(2, 3))"), "( 1 + ( 2 + 3 ) )");
  EXPECT_EQ(expanded("#define F(a) [a]\nF((1, 2))"), "[ ( 1 , 2 ) ]");
  EXPECT_EQ(expanded("#define F() 7\nF() F ( )"), "7 7");
  EXPECT_EQ(expanded("#define F(a) a\nF F(\n1\n)"), "F 1");
  EXPECT_EQ(expanded("#define F (1)\nF"), "( 1 )");
}

TEST(Preprocessor, a_macro_is_not_expanded_within_itself) {
  EXPECT_EQ(expanded("#define A A + 1\nA"), "A + 1");
  EXPECT_EQ(expanded("#define A B\n#define B A\nA B"), "A B");
  EXPECT_EQ(expanded("#define F(a) F(a)\nF(F(1))"), "F ( F ( 1 ) )");
}

TEST(Preprocessor, a_name_made_by_one_macro_is_the_next_one) {
  EXPECT_EQ(expanded("#define F(a) <a>\n#define G F\nG(1)"), "< 1 >");
  EXPECT_EQ(expanded("#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n#define LOAD_f32(p, i) p[i]\n#define T_x f32\n"
                     "#define LOAD(T, p, i) CAT(LOAD_, T)(p, i)\n#define GET(p, i) LOAD(CAT(T_, p), p, i)\nGET(x, GET(x, 2))"),
            "x [ x [ 2 ] ]");
}

TEST(Preprocessor, pieces_are_joined) {
  EXPECT_EQ(expanded("#define F(a) a##_given\nF(at)"), "at_given");
  EXPECT_EQ(expanded("#define F(a, b) a##b\nF(, x) F(x, ) F(,) F(1, 2)"), "x x 12");
  EXPECT_EQ(expanded("#define A 1\n#define F(a) a##A a\nF(A)"), "AA 1");
}

TEST(Preprocessor, conditions_choose_lines) {
  EXPECT_EQ(expanded("#if 1\na\n#else\nb\n#endif"), "a");
  EXPECT_EQ(expanded("#define G 3\n#if G == 4\na\n#elif G == 3\nb\n#elif 1\nc\n#else\nd\n#endif"), "b");
  EXPECT_EQ(expanded("#if UNKNOWN\na\n#endif\nb"), "b");
  EXPECT_EQ(expanded("#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif"), "c");
  EXPECT_EQ(expanded("#define A\n#ifdef A\na\n#endif\n#ifndef A\nb\n#endif\n#if defined(A) && !defined B\nc\n#endif"), "a c");
  EXPECT_EQ(expanded("#if (2 + 3 * 2 == 8) && -1 < 0 || 0\na\n#endif"), "a");
}

TEST(Preprocessor, lines_are_those_of_the_source) {
  Preprocessor preprocessor;
  preprocessor.add("#define F(a) a \\\n b\n\nF(1)\nx");
  const std::vector<Token> tokens = preprocessor.take();
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0].line, 4u);
  EXPECT_EQ(tokens[2].line, 5u);
}

TEST(Preprocessor, errors_name_the_line) {
  const auto error = [](std::string_view text, std::string_view expected) {
    EXPECT_THAT([&] { expanded(text); }, ThrowsMessage<InternalError>(HasSubstr(std::string(expected)))) << text;
  };
  error("a\n\"b\"", "line 2 of a kernel: unexpected character");
  error("#define F(a) a\n\nF(1, 2)", "line 3 of a kernel: F takes 1 arguments, here are 2");
  error("#define F(a) a\nF(1", "the arguments of F do not end");
  error("#if 1\na", "ends within #if");
  error("#else", "#else without #if");
  error("#endif", "#endif without #if");
  error("#include x", "#include is not known");
  error("#if 1 +\n#endif", "a condition of the preprocessor is not understood");
  error("#define F(a", "the parameters of F do not end");
}

TEST(Preprocessor, expansion_ends) {
  std::string text = "#define A0 x x x x x x x x x x\n";
  for (int i = 1; i < 12; ++i) {
    text += "#define A" + std::to_string(i);
    for (int k = 0; k < 10; ++k) text += " A" + std::to_string(i - 1);
    text += "\n";
  }
  EXPECT_THROW(expanded(text + "A11"), InternalError);
}

}  // namespace
}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace minnow {
namespace {

TEST(Text, what_terminals_can_show_stays) {
  for (const char* text : {"", "conv1/weight:0", "C:\\path", "größe", "层", "\xf0\x9f\x90\x9f", "a\xc2\xa0z"}) {
    EXPECT_TRUE(is_printable(text)) << text;
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Text, what_steers_terminals_is_escaped) {
  EXPECT_EQ(printable("a\x1b[31mred"), "a\\x1b[31mred");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\x0d");
  EXPECT_EQ(printable("a\nb\tc\r", true), "a\nb\tc\\x0d");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m")
      << "CSI of eight bits";
  EXPECT_EQ(printable("evil\xe2\x80\xae"
                      "cod"),
            "evil\\u202ecod")
      << "the direction of writing";
}

TEST(Text, bytes_that_are_no_utf8_are_escaped_one_by_one) {
  EXPECT_EQ(printable("a\xff\xfe"
                      "b"),
            "a\\xff\\xfeb");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "not the shortest form";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(printable("\xe5\xb1"), "\\xe5\\xb1") << "cut off";
}

TEST(Text, escaping_twice_changes_nothing_more) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string once = printable(all);
  EXPECT_TRUE(is_printable(once));
  EXPECT_EQ(printable(once), once);
}

TEST(Text, long_texts_keep_their_beginning_and_their_end) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcdefghijklmnop", 8), "abcdef...op");
  for (size_t most = 0; most < 40; ++most) {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "ö层";
    EXPECT_TRUE(is_printable(shortened(text, most))) << most;
    EXPECT_LE(shortened(text, most).size(), most + 3);
  }
}

TEST(Text, errors_are_printable_and_bounded) {
  EXPECT_STREQ(InvalidModel("node \"{}\"", "\x1b[2J\xff").what(), "node \"\\x1b[2J\\xff\"");
  EXPECT_LT(std::string(InvalidModel("{}", std::string(1 << 20, 'x')).what()).size(), 10000u);
}

}  // namespace
}  // namespace minnow

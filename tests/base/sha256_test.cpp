// SPDX-License-Identifier: Apache-2.0
// The examples of FIPS 180-4, and Python's hashlib for lengths around the block's.
#include "base/sha256.h"

#include <gmock/gmock.h>

namespace minnow::test {
namespace {

std::string digest(std::string_view text) { return sha256(std::as_bytes(std::span(text.data(), text.size()))); }

TEST(Sha256, known_digests) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(55, 'x')), "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(digest(std::string(63, 'x')), "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(digest(std::string(64, 'x')), "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  EXPECT_EQ(digest(std::string(65, 'x')), "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9");
  EXPECT_EQ(digest(std::string(1000, 'x')), "44f8354494a5ba03ba1792a8d3e9c534c47a9181980fde7a3f44b06ef2ae7c7f");
}

TEST(Sha256, pieces_make_the_same_sum) {
  const std::string text(1000, 'x');
  Sha256 sum;
  for (size_t at = 0, piece = 1; at < text.size(); at += piece, piece = piece * 2 + 1)
    sum.add(std::as_bytes(std::span(text).subspan(at, std::min(piece, text.size() - at))));
  EXPECT_EQ(sum.hex_digest(), digest(text));
}

}  // namespace
}  // namespace minnow::test

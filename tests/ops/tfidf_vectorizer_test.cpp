// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(TfIdfVectorizer, modes) {
  const Tensor x = tensor(DType::i32, {2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
  const auto run = [&](const char* mode) {
    return run_operator("TfIdfVectorizer", {x},
                        {{"mode", std::string(mode)},
                         {"min_gram_length", int64_t{1}},
                         {"max_gram_length", int64_t{2}},
                         {"max_skip_count", int64_t{2}},
                         {"ngram_counts", Ints{0, 4}},
                         {"ngram_indexes", Ints{0, 1, 2, 3, 4, 5, 6}},
                         {"pool_int64s", Ints{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}},
                         {"weights", Floats{1, 2, 3, 4, 5, 6, 7}}})[0];
  };
  EXPECT_TRUE(near(run("TF"), {2, 7}, {0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1}));
  EXPECT_TRUE(near(run("IDF"), {2, 7}, {0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 5, 6, 7}));
  EXPECT_TRUE(near(run("TFIDF"), {2, 7}, {0, 6, 0, 0, 0, 0, 0, 0, 0, 3, 0, 5, 6, 7}));
}

TEST(TfIdfVectorizer, weights_belong_to_n_grams_and_n_grams_may_share_a_column) {
  const auto run = [](const char* mode) {
    return run_operator("TfIdfVectorizer", {Tensor::of_i64({1, 5}, Ints{1, 1, 2, 3, 3})},
                        {{"mode", std::string(mode)},
                         {"min_gram_length", int64_t{1}},
                         {"max_gram_length", int64_t{1}},
                         {"max_skip_count", int64_t{0}},
                         {"ngram_counts", Ints{0}},
                         {"ngram_indexes", Ints{1, 1, 0, 2}},
                         {"pool_int64s", Ints{1, 2, 3, 9}},
                         {"weights", Floats{1, 10, 100, 1000}}})[0];
  };
  EXPECT_TRUE(near(run("TF"), {1, 3}, {2, 3, 0}));
  EXPECT_TRUE(near(run("IDF"), {1, 3}, {100, 10, 0}));
  EXPECT_TRUE(near(run("TFIDF"), {1, 3}, {200, 12, 0}));
}

TEST(TfIdfVectorizer, strings_are_refused) {
  EXPECT_THAT(error_of("TfIdfVectorizer", {Tensor::of_i64({1}, Ints{1})},
                       {{"mode", std::string("TF")},
                        {"min_gram_length", int64_t{1}},
                        {"max_gram_length", int64_t{1}},
                        {"max_skip_count", int64_t{0}},
                        {"ngram_counts", Ints{0}},
                        {"ngram_indexes", Ints{0}},
                        {"pool_strings", Strings{"a"}}}),
              testing::HasSubstr("strings are not supported"));
}

}  // namespace
}  // namespace minnow::test

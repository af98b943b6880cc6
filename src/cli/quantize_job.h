// SPDX-License-Identifier: Apache-2.0
// A quantization from its options to the models and the report, for the command and for Python.
#pragma once
#include <minnow/convert.h>

#include "cli/recipe.h"

namespace minnow::cli {

struct QuantizeResult {
  compress::Quantized quantized;
  SaveOptions form;                             // of the file
  std::vector<compress::Candidate> candidates;  // of a search
  size_t chosen = 0;
  std::vector<std::string> sentences;  // of the steps before quantization
  std::vector<std::string> notes;      // that the user should read
  std::string missed;                  // aims that are not reached, as clauses; empty: none
};

/// The dimensions that the shapes of a recipe give the one input that pictures fill; none if there are none.
std::vector<int64_t> picture_shape(const Model& model, const std::vector<std::string>& shapes);
/// `open` gets the names of inputs with a dimension that is 1 only because no shape sets it.
compress::Samples made_up_samples(const Model& model, const Recipe& recipe, std::vector<std::string>* open = nullptr);

/// `path`: the file that the result will be saved to, which tells the form that sizes count. Throws as compress::quantize() does, and
/// InvalidArgument for aims that need samples.
QuantizeResult quantize_by(const Recipe& recipe, const Model& model, const compress::Samples& samples, const compress::Samples& evaluation,
                           const std::string& path);

/// Says so if the file stores weights in more bits than they are rounded to; else empty.
std::string note_on_bits(const compress::QuantizeOptions& options, const std::string& path);

std::string decibels(double value);
/// By a pattern of printf.
std::string fixed(double value, const char* pattern);
std::string sentence_of(const compress::Candidate& candidate);

}  // namespace minnow::cli

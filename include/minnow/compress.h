// SPDX-License-Identifier: Apache-2.0
// Post-training quantization: a trained model of f32 numbers becomes one whose convolutions and products compute with 8-bit integers.
// The library minnow_compress (CMake: Minnow::compress, option MINNOW_COMPRESS).
//
//   minnow::Model model = minnow::convert("classifier.onnx");
//   minnow::compress::Samples samples{pictures.size(), [&](size_t i) { return std::vector{input_of(pictures[i])}; }};
//   minnow::compress::Quantized quantized = minnow::compress::quantize(model, samples);
//   minnow::save(quantized.model, "classifier.minnow");
#pragma once
#include <minnow/minnow.h>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace minnow::compress {

/// Inputs that are typical of what the model will see. `at(i)` gives the inputs of run i in the model's order; it is called more than once
/// for each i, in order, and always gives the same tensors.
struct Samples {
  size_t count = 0;
  std::function<std::vector<Tensor>(size_t i)> at;
};
/// Made-up samples for a model without data: smooth noise of mean 0 and variance 1. Ranges found with them are guesses. `shapes`: those of
/// the inputs in the model's order; empty: as the model says, open dimensions are 1. Throws InvalidArgument if an input is not a tensor or
/// has no rank, or if the shapes do not belong to the inputs.
MINNOW_API Samples synthetic_samples(const Model& model, size_t count = 8, uint64_t seed = 0, std::span<const Shape> shapes = {});

/// The name of a method and a sentence about it.
struct MethodDescription {
  std::string name, description;
};
/// Methods that find the range of an activation.
MINNOW_API std::vector<MethodDescription> activation_methods();
/// Methods that find the scale of each channel of a weight.
MINNOW_API std::vector<MethodDescription> weight_methods();

/// Methods that round weights.
MINNOW_API std::vector<MethodDescription> roundings();
/// Methods that quantize weights alone, in blocks.
MINNOW_API std::vector<MethodDescription> weight_only_methods();

struct QuantizeOptions {
  std::string method = "mse";   // one of activation_methods()
  std::string weights = "mse";  // one of weight_methods()
  // u8: from the lowest to the highest number; i8: symmetric around 0, and with weights_only kernels may round activations to 8 bits
  std::string activations = "u8";
  std::string rounding = {};  // one of roundings(); empty: gptq
  double percentile = 99.99;  // method percentile: percent of the numbers below the upper end, and above the lower one
  int weight_bits = 0;        // 2 to 8; 7 keeps ONNX Runtime exact on processors without VNNI; 0: 8, or 4 with weights_only
  bool per_channel = true;    // false: one scale for each weight and activation
  // QuantizeLinear and DequantizeLinear only in the form that integer kernels of other engines know: activations have one scale, and each
  // layer's own result is quantized, before functions other than Relu and Clip and before residuals are added.
  bool portable = false;
  bool equalize = false;     // cross-layer equalization before anything else
  bool correct_bias = true;  // the mean error of each channel goes into its bias
  double smooth = 0;         // SmoothQuant: the part of an input's range that goes into the weights, 0 (none) to 1
  // Where outputs have less than 30 dB, layers that make most of the noise stay f32 if that gains 5 dB, and all of them together have at
  // most so many percent of the multiply-adds and of the weights. 0: none. Not with weights_only and with weight_bits below 7.
  double keep_f32 = 8;
  std::vector<std::string> skip = {};  // names of nodes, with `*` and `?`, or operators, that stay f32
  std::string weights_only = {};  // one of weight_only_methods(): activations stay f32, weights become blocks of 2, 3, 4, 5, 6 or 8 bits
  std::map<std::string, int> bits_for =
      {};                  // with weights_only: other bits for nodes (also by `*`, `?`), or tensors that they make; 0, or more than 8: f32
  int block_size = 64;     // weights that share a scale: 16, 32, 64, 128 or 256; with weights_only
  bool symmetric = false;  // without zero points; with weights_only
  size_t evaluate = 16;    // samples for the report
  uint64_t seed = 0;
  /// Called from time to time with the finished part of the work, from 0 to 1. An exception from it ends the work.
  std::function<void(double part)> progress = {};

  /// Sets an option by its name in recipes. Throws InvalidArgument, beginning with `prefix`, for an unknown name or a wrong value.
  MINNOW_API void set(const std::string& key, const std::string& value, const std::string& prefix = {});
};

/// How far one tensor of the quantized model is from that of the f32 model.
struct Fidelity {
  double sqnr = 0;    // signal to quantization noise, in decibels; infinity if they are equal
  double cosine = 1;  // of the angle between them
};
struct LayerReport {
  std::string node, op, output;  // output: the tensor that the fidelity tells of, behind the activation
  std::string refusal;           // why it stays f32; empty if it computes with integers
  Fidelity fidelity;             // of `output`, errors of earlier layers included
  Fidelity weights;              // of the weights alone
  double low = 0, high = 0;      // range of the quantized output
  double clipped = 0;            // part of the output's numbers outside the range
  int weight_bits = 8;           // of a weight; 32 if it stays f32
  size_t bytes_before = 0, bytes_after = 0;
  double operations = 0;                         // of a run of the first sample, a multiply-add counting two; 0 if none was run
  double seconds_before = 0, seconds_after = 0;  // of such a run, estimated for this machine; 0: not known
};
struct OutputReport {
  std::string name;
  Fidelity fidelity;
  double agreement = -1;  // part of the rows whose largest element is at the same place; -1 if the output is no row of scores
};
struct QuantizeReport {
  std::vector<LayerReport> layers;
  std::vector<OutputReport> outputs;
  size_t samples = 0, evaluated = 0;
  bool weights_only = false;                 // activations are f32
  size_t bytes_before = 0, bytes_after = 0;  // of all constants, in a .minnow file
};

struct Quantized {
  Model model;  // optimized: layers compute with integers; for running and for .minnow files
  Model plain;  // with QuantizeLinear and DequantizeLinear around the layers of the f32 model; for ONNX files
  QuantizeReport report;
};
/// Quantizes a copy of `model`, which does not change. Throws InvalidArgument for options and samples that do not fit the model, and
/// Unsupported if no layer can be quantized. Same model, samples and options: same result. With `weights_only` "rtn" and "hqq" there may
/// be no samples; layers and outputs then have no fidelity.
MINNOW_API Quantized quantize(const Model& model, const Samples& samples, const QuantizeOptions& options = {});

// Quantization-aware training: where a network rounds while it is trained, and the integer model of the trained numbers. minnow.compress
// (Python) trains with them.

/// A layer that will compute with integers.
struct TrainedLayer {
  std::string name;     // of the value that it gives in the integer model
  std::string weights;  // the name of the constant
  size_t axis = 0;      // of its output channels
  /// The BatchNormalization that will become part of the weights: names of its scale and its running variance; empty if there is none.
  std::string scale, variance;
  double epsilon = 0;
  std::vector<float> steps;  // between neighbouring weights, one for each channel, or one; of weights that took in the normalization
  bool gates = false;        // W or R of an LSTM or GRU, [directions, gates * hidden, depth]: channels are the rows of all directions
};
/// The numbers scale * (integer - zero) of 8 bits.
struct IntegerScale {
  float scale = 0;  // 0: not known yet
  int zero = 0;
};
/// Values that are rounded alike.
struct TrainedValues {
  std::vector<std::string> names;    // all of them
  std::vector<std::string> sources;  // those whose ranges count; the others only move their numbers
  IntegerScale scale;                // of calibration
};
struct TrainingPlan {
  Model model;  // simplified; BatchNormalization stays, and parameters are constants of their own
  std::vector<TrainedLayer> layers;
  std::vector<TrainedValues> values;
};
/// `samples` without entries leave the scales of values open. Throws as quantize() does.
MINNOW_API TrainingPlan plan_training(const Model& model, const Samples& samples, const QuantizeOptions& options = {});

struct TrainedNumbers {
  std::map<std::string, Tensor> constants;          // of TrainingPlan::model, by name
  std::map<std::string, std::vector<float>> steps;  // of layers, by name
  std::map<std::string, IntegerScale> scales;       // of values, by name
};
/// The integer model of a trained TrainingPlan::model; the same graph as quantize() makes. The report compares it with the trained model in
/// f32 on `evaluation`, which may have no entries. Throws InvalidArgument if names or shapes do not belong to the plan, and for numbers
/// that are not finite.
MINNOW_API Quantized quantize_trained(const Model& model, const TrainedNumbers& numbers, const Samples& evaluation,
                                      const QuantizeOptions& options = {});

/// A mix of precisions, as a search tried it.
struct Candidate {
  std::vector<std::string> f32;     // names of the nodes
  std::map<std::string, int> bits;  // of the other nodes, by the tensors that they make; empty if all have the same
  size_t bytes = 0;                 // by SearchOptions::size_of for the one that is taken; of others, estimated by their layers' bytes
  double sqnr = 0;                  // of the worst output
  double agreement = -1;            // of the worst output that is a row of scores; -1 if there is none
  bool best = false;                // no other candidate is both smaller and closer to the f32 model
};
/// The aims of a search. A model that reaches all of them is as small as possible; with `most_bytes` alone it is as close as possible.
struct SearchOptions {
  double max_drop = -1;     // percent of the samples whose best class changes; -1: any. No model without a row of scores reaches it
  double min_sqnr = -1000;  // decibels
  size_t most_bytes = 0;    // by size_of; 0: any
  // Files store weights of 4 bits as such, and those of layers in f32 as f16 (SaveOptions::weights): layers may have 4 bits if the options
  // say no number of bits, and weights of f32 are rounded to f16. Not with weights_only.
  bool compact = true;
  /// The bytes of a candidate, which is in the form of Quantized::plain; those of the file that it becomes, say (saved_bytes). Empty: the
  /// bytes of all constants.
  std::function<size_t(const Model& plain)> size_of = {};
};
struct SearchResult {
  Quantized quantized;
  std::vector<Candidate> candidates;  // the smallest first
  size_t chosen = 0;
  bool reached = false;  // else the chosen one comes nearest
};
/// Mixed precision: finds how much accuracy each layer costs by itself, with weights of 8 and of 4 bits, and tries mixes of these and f32.
/// Layers are judged by the first of `evaluation`, candidates by all of it.
MINNOW_API SearchResult search(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options,
                               const SearchOptions& aims);
/// The report of another set of samples.
MINNOW_API std::vector<OutputReport> compare(const Model& model, const Model& quantized, const Samples& samples);

/// The report as a page of HTML with plots, in one file.
MINNOW_API std::string report_page(const QuantizeReport& report, const std::string& title);

}  // namespace minnow::compress

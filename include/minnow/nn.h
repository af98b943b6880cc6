// SPDX-License-Identifier: Apache-2.0
// Layers and losses with torch's names, arguments, layouts (NCHW) and names of parameters; minnow.nn is the same in Python. The library is
// Minnow::train.
//
//   using namespace minnow;
//   nn::Sequential net({nn::make<nn::Conv2d>(1, 8, 3, nn::ConvOptions{.padding = {1}}), nn::make<nn::BatchNorm2d>(8),
//                       nn::make<nn::Activation>("relu"), nn::make<nn::Flatten>(), nn::make<nn::Linear>(8 * 28 * 28, 10)});
//   nn::CrossEntropyLoss loss({.label_smoothing = 0.1});
//   TrainingStep step([&](const Vars& batch) { return loss({net(batch[0]), batch[1]}); }, net.parameters(), optimizer);
//
// Parameters are f32 and begin as torch's do; nn::seed() decides their values. Functions throw Error: InvalidArgument for settings and
// shapes that do not fit, InvalidModel where an operator finds the fault. One thread at a time may call a layer.
#pragma once
#include <minnow/data.h>
#include <minnow/train.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minnow::nn {

using Named = std::vector<std::pair<std::string, Var>>;

/// A number for each spatial axis, or one for all of them.
using PerAxis = std::vector<int64_t>;

/// A module with buffers, which begins in training mode. Derive layers of your own from it.
class MINNOW_API Layer : public Module {
 public:
  Layer() { set_training(true); }
  /// The parameters that are trained, with the names that torch gives them: frozen ones (freeze(), below) do not come. Module::parameters()
  /// has them, too.
  Named parameters() const;
  /// Buffers of this layer and those in it: "1.running_mean".
  std::vector<std::pair<std::string, Var>> buffers() const;
  /// Parameters and buffers by the names that torch gives them; tensors that later steps do not change.
  virtual std::map<std::string, Tensor> state_dict() const;
  /// Throws InvalidArgument, and changes nothing, for names that are missing or too many and for other dtypes and shapes.
  virtual void load_state_dict(const std::map<std::string, Tensor>& state);
  /// state_dict() as a .safetensors file, and such a file into this layer. Throw as save_safetensors, load_safetensors and
  /// load_state_dict do.
  void save(const std::string& path, const std::map<std::string, std::string>& metadata = {}) const;
  void load(const std::string& path);

  /// The weight that lora() may adapt, as so many parts one after the other; null where there is none.
  struct Adaptable {
    const Var* weight = nullptr;
    int64_t parts = 1;
  };
  virtual Adaptable adaptable() const { return {}; }

 protected:
  /// adaptable().weight with the change by an adapter, where lora() has given this layer one.
  Var adapted(const Var& weight) const;
  /// A parameter of numbers of equal chance between -bound and bound.
  Var uniform(std::string name, const Shape& shape, double bound);
  Var filled(std::string name, const Shape& shape, float value);
  Var buffer(std::string name, Tensor initial);
  template <class L>
  std::shared_ptr<L> layer(std::string name, std::shared_ptr<L> made) {
    layers_.emplace_back(name, made);
    return submodule(std::move(name), std::move(made));
  }

 private:
  friend struct Adapters;
  friend class EvalMode;
  struct Adapter;
  void for_each(const std::function<void(const std::string& name, Layer& layer)>& f, const std::string& name);
  Named buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Layer>>> layers_;
  std::shared_ptr<Adapter> adapter_;
};

/// Arrays by name as a .safetensors file; a file of that name is replaced when all bytes are written. Throws Unsupported for dtypes that
/// the format does not have, and FileError.
MINNOW_API void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                                 const std::map<std::string, std::string>& metadata = {});
/// The arrays of a .safetensors file by name, such as torch's weights in this format; `metadata`, if given, gets its texts. Throws
/// FileError, and InvalidModel for a wrong file.
MINNOW_API std::map<std::string, Tensor> load_safetensors(const std::string& path, std::map<std::string, std::string>* metadata = nullptr);

template <class L, class... Arguments>
std::shared_ptr<L> make(Arguments&&... arguments) {
  return std::make_shared<L>(std::forward<Arguments>(arguments)...);
}

/// Modules one after the other, named "0", "1" ...
class MINNOW_API Sequential : public Layer {
 public:
  explicit Sequential(std::vector<std::shared_ptr<Layer>> layers);
  Vars forward(const Vars& x) override;

 private:
  std::vector<std::shared_ptr<Layer>> order_;
};

class MINNOW_API Linear : public Layer {
 public:
  Linear(int64_t in, int64_t out, bool bias = true);
  Vars forward(const Vars& x) override;  // [..., in]
  Adaptable adaptable() const override { return {&weight}; }
  Var weight, bias;  // [out, in], [out]
};

class MINNOW_API Embedding : public Layer {
 public:
  Embedding(int64_t count, int64_t size);
  Vars forward(const Vars& x) override;  // indices
  Var weight;
};

/// An activation by the name that torch.nn.functional gives it: "relu", "gelu", "softmax"; others throw InvalidArgument with the nearest
/// ones. Settings are those of the operator: {{"alpha", 0.2f}} for "leaky_relu", {{"axis", int64_t{1}}} for "softmax".
class MINNOW_API Activation : public Layer {
 public:
  explicit Activation(std::string_view name, expr::Attributes settings = {});
  Vars forward(const Vars& x) override;

 private:
  std::string op_;
  expr::Attributes attributes_;
};

struct ConvOptions {
  PerAxis stride = {1}, padding = {0}, dilation = {1};
  int64_t groups = 1;
  bool bias = true;
  PerAxis output_padding = {0};  // of transposed convolutions
};
class MINNOW_API Convolution : public Layer {
 public:
  Convolution(size_t axes, bool transposed, int64_t in, int64_t out, PerAxis kernel, ConvOptions options);
  Vars forward(const Vars& x) override;  // [N, in, ...]
  Adaptable adaptable() const override { return {&weight}; }
  Var weight, bias;  // [out, in / groups, ...], transposed [in, out / groups, ...]

 private:
  std::string op_;
  expr::Attributes attributes_;
};
template <size_t kAxes, bool kTransposed>
class ConvolutionOf : public Convolution {
 public:
  ConvolutionOf(int64_t in, int64_t out, PerAxis kernel, ConvOptions options = {})
      : Convolution(kAxes, kTransposed, in, out, std::move(kernel), std::move(options)) {}
  ConvolutionOf(int64_t in, int64_t out, int64_t kernel, ConvOptions options = {})
      : ConvolutionOf(in, out, PerAxis{kernel}, std::move(options)) {}
};
using Conv1d = ConvolutionOf<1, false>;
using Conv2d = ConvolutionOf<2, false>;
using Conv3d = ConvolutionOf<3, false>;
using ConvTranspose1d = ConvolutionOf<1, true>;
using ConvTranspose2d = ConvolutionOf<2, true>;
using ConvTranspose3d = ConvolutionOf<3, true>;

struct PoolOptions {
  PerAxis stride = {}, padding = {0}, dilation = {1};  // without a stride that of the kernel; dilation of MaxPool
  bool ceil_mode = false, count_include_pad = true;
};
enum class PoolKind : uint8_t { max, average, adaptive_max, adaptive_average };
/// The sizes of adaptive pools divide those of the input.
class MINNOW_API Pool : public Layer {
 public:
  Pool(size_t axes, PoolKind kind, PerAxis kernel_or_output, PoolOptions options);
  Vars forward(const Vars& x) override;

 private:
  size_t axes_;
  PoolKind kind_;
  PerAxis sizes_;
  expr::Attributes attributes_;
};
template <size_t kAxes, PoolKind kKind>
class PoolOf : public Pool {
 public:
  explicit PoolOf(PerAxis sizes, PoolOptions options = {}) : Pool(kAxes, kKind, std::move(sizes), std::move(options)) {}
  explicit PoolOf(int64_t size, PoolOptions options = {}) : PoolOf(PerAxis{size}, std::move(options)) {}
};
using MaxPool1d = PoolOf<1, PoolKind::max>;
using MaxPool2d = PoolOf<2, PoolKind::max>;
using MaxPool3d = PoolOf<3, PoolKind::max>;
using AvgPool1d = PoolOf<1, PoolKind::average>;
using AvgPool2d = PoolOf<2, PoolKind::average>;
using AvgPool3d = PoolOf<3, PoolKind::average>;
using AdaptiveMaxPool1d = PoolOf<1, PoolKind::adaptive_max>;
using AdaptiveMaxPool2d = PoolOf<2, PoolKind::adaptive_max>;
using AdaptiveMaxPool3d = PoolOf<3, PoolKind::adaptive_max>;
using AdaptiveAvgPool1d = PoolOf<1, PoolKind::adaptive_average>;
using AdaptiveAvgPool2d = PoolOf<2, PoolKind::adaptive_average>;
using AdaptiveAvgPool3d = PoolOf<3, PoolKind::adaptive_average>;

/// Normalizes [N, C, ...] with any number of spatial axes. In training the running statistics move by `momentum` towards the batch.
class MINNOW_API BatchNorm : public Layer {
 public:
  explicit BatchNorm(int64_t channels, double eps = 1e-5, double momentum = 0.1);
  Vars forward(const Vars& x) override;
  Var weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  double eps_, momentum_;
};
using BatchNorm1d = BatchNorm;
using BatchNorm2d = BatchNorm;
using BatchNorm3d = BatchNorm;

/// LayerNorm and RMSNorm (over the last axes, which have this shape), GroupNorm (of groups of channels) and InstanceNorm (of each channel).
class MINNOW_API Normalization : public Layer {
 public:
  Normalization(std::string op, const Shape& shape, bool has_bias, expr::Attributes attributes);
  Vars forward(const Vars& x) override;
  Var weight, bias;

 private:
  std::string op_;
  expr::Attributes attributes_;
};
struct MINNOW_API LayerNorm : Normalization {
  explicit LayerNorm(const Shape& shape, double eps = 1e-5);
};
struct MINNOW_API RMSNorm : Normalization {
  explicit RMSNorm(const Shape& shape, double eps = 1.1920928955078125e-07);
};
struct MINNOW_API GroupNorm : Normalization {
  GroupNorm(int64_t groups, int64_t channels, double eps = 1e-5);
};
struct MINNOW_API InstanceNorm : Normalization {  // with affine=True
  explicit InstanceNorm(int64_t channels, double eps = 1e-5);
};
using InstanceNorm1d = InstanceNorm;
using InstanceNorm2d = InstanceNorm;
using InstanceNorm3d = InstanceNorm;

/// In training each element, or with `axes` each channel of so many axes, becomes 0 with probability p and is divided by 1 - p otherwise.
class MINNOW_API Dropout : public Layer {
 public:
  explicit Dropout(double p = 0.5, size_t axes = 0);
  Vars forward(const Vars& x) override;

 private:
  double p_;
  size_t axes_;
};

class MINNOW_API Flatten : public Layer {
 public:
  explicit Flatten(int64_t start = 1) : start_(start) {}
  Vars forward(const Vars& x) override;

 private:
  int64_t start_;
};

/// One axis as several.
class MINNOW_API Unflatten : public Layer {
 public:
  Unflatten(int64_t axis, std::vector<int64_t> sizes) : axis_(axis), sizes_(std::move(sizes)) {}
  Vars forward(const Vars& x) override;

 private:
  int64_t axis_;
  std::vector<int64_t> sizes_;
};

/// [N, C r^2, H, W] to [N, C, H r, W r], and back.
class MINNOW_API PixelShuffle : public Layer {
 public:
  explicit PixelShuffle(int64_t factor) : factor_(factor) {}
  Vars forward(const Vars& x) override;

 private:
  int64_t factor_;
};
class MINNOW_API PixelUnshuffle : public Layer {
 public:
  explicit PixelUnshuffle(int64_t factor) : factor_(factor) {}
  Vars forward(const Vars& x) override;

 private:
  int64_t factor_;
};

/// [N, C, ...] with other sizes: `size`, or the input's times `scale`, one for each spatial axis or one for all.
struct UpsampleOptions {
  PerAxis size = {};
  std::vector<double> scale = {};
  std::string mode = "nearest";  // "nearest-exact", "linear", "bilinear", "trilinear", "bicubic"
  bool align_corners = false;
};
class MINNOW_API Upsample : public Layer {
 public:
  /// Throws InvalidArgument for another mode, and without exactly one of size and scale.
  explicit Upsample(UpsampleOptions options);
  Vars forward(const Vars& x) override;

 private:
  UpsampleOptions options_;
  expr::Attributes attributes_;
};

/// x1^T weight[k] x2 + bias[k] for each k: takes [..., in1] and [..., in2].
class MINNOW_API Bilinear : public Layer {
 public:
  Bilinear(int64_t in1, int64_t in2, int64_t out, bool bias = true);
  Vars forward(const Vars& x) override;
  Var weight, bias;  // [out, in1, in2], [out]
};

/// Modules named "0", "1" ... for a layer that calls them itself.
class MINNOW_API ModuleList : public Layer {
 public:
  explicit ModuleList(std::vector<std::shared_ptr<Layer>> layers);
  Vars forward(const Vars& x) override;  // throws InvalidArgument
  const std::shared_ptr<Layer>& operator[](size_t i) const { return order_.at(i); }
  size_t size() const noexcept { return order_.size(); }

 private:
  std::vector<std::shared_ptr<Layer>> order_;
};

struct RecurrentOptions {
  int64_t layers = 1;
  bool bias = true, batch_first = false;
  double dropout = 0;  // between layers, in training
  bool bidirectional = false;
};
/// Takes a sequence [length, batch, in] (batch_first: [batch, length, in]) and, if given, the first states [layers * directions, batch,
/// hidden]; gives outputs and the last states.
class MINNOW_API Recurrent : public Layer {
 public:
  enum class Kind : uint8_t { rnn, gru, lstm };
  Recurrent(Kind kind, int64_t in, int64_t hidden, const RecurrentOptions& options);
  Vars forward(const Vars& x) override;

 private:
  Var weights(size_t part, int64_t layer) const;
  Kind kind_;
  int64_t hidden_;
  RecurrentOptions options_;
  std::vector<Var> weights_;  // weight_ih, weight_hh, bias_ih, bias_hh of each layer and direction
};
struct RNN : Recurrent {
  RNN(int64_t in, int64_t hidden, const RecurrentOptions& options = {}) : Recurrent(Kind::rnn, in, hidden, options) {}
};
struct GRU : Recurrent {
  GRU(int64_t in, int64_t hidden, const RecurrentOptions& options = {}) : Recurrent(Kind::gru, in, hidden, options) {}
};
struct LSTM : Recurrent {
  LSTM(int64_t in, int64_t hidden, const RecurrentOptions& options = {}) : Recurrent(Kind::lstm, in, hidden, options) {}
};

/// Takes query, key, value [length, batch, size] and, if given, a mask [queries, keys] that is true where nothing attends to; gives the
/// outputs and the mean weights of the heads [batch, queries, keys].
class MINNOW_API MultiheadAttention : public Layer {
 public:
  MultiheadAttention(int64_t size, int64_t heads, double dropout = 0, bool batch_first = false);
  Vars forward(const Vars& x) override;
  Adaptable adaptable() const override { return {&in_weight_, 3}; }  // query, key and value each have an adapter of their own

 private:
  int64_t size_, heads_;
  double dropout_;
  bool batch_first_;
  Var in_weight_, in_bias_;
  std::shared_ptr<Linear> out_;
};

struct TransformerOptions {
  int64_t feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";
  double eps = 1e-5;
  bool batch_first = false, norm_first = false;
};
/// Takes a sequence and, if given, a mask; a decoder layer a sequence, another one, and a mask for each.
class MINNOW_API TransformerLayer : public Layer {
 public:
  TransformerLayer(bool decodes, int64_t size, int64_t heads, const TransformerOptions& options);
  Vars forward(const Vars& x) override;

 private:
  bool decodes_, norm_first_;
  std::shared_ptr<MultiheadAttention> self_, other_;
  std::shared_ptr<Linear> first_, second_;
  std::shared_ptr<Layer> dropout_, activation_;
  std::vector<std::shared_ptr<LayerNorm>> norms_;
};
struct TransformerEncoderLayer : TransformerLayer {
  TransformerEncoderLayer(int64_t size, int64_t heads, const TransformerOptions& options = {})
      : TransformerLayer(false, size, heads, options) {}
};
struct TransformerDecoderLayer : TransformerLayer {
  TransformerDecoderLayer(int64_t size, int64_t heads, const TransformerOptions& options = {})
      : TransformerLayer(true, size, heads, options) {}
};
/// Layers one after the other, which all get the inputs behind the first; then a normalization, if there is one.
class MINNOW_API TransformerStack : public Layer {
 public:
  TransformerStack(std::vector<std::shared_ptr<TransformerLayer>> layers, std::shared_ptr<Layer> norm = {});
  Vars forward(const Vars& x) override;

 private:
  std::vector<std::shared_ptr<TransformerLayer>> order_;
  std::shared_ptr<Layer> norm_;
};
using TransformerEncoder = TransformerStack;
using TransformerDecoder = TransformerStack;

/// Settings of losses; without a value torch's default holds. Each loss reads those that its function in torch has.
struct LossOptions {
  std::string reduction = "mean";  // "sum", "none"; KLDivLoss: "batchmean"
  Var weight = {}, pos_weight = {};
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  std::optional<double> margin = {}, delta = {}, beta = {}, p = {}, eps = {}, alpha = {}, gamma = {}, temperature = {}, smooth = {};
  bool full = false, log_input = true, log_target = false, swap = false;
  int64_t blank = 0;           // ctc_loss: the class between labels
  bool zero_infinity = false;  // ctc_loss: sequences that are too short for their target count 0
};
/// A loss of {input, target}, or of the inputs that the comments below name.
class MINNOW_API Loss : public Layer {
 public:
  using Function = Var (*)(const Vars& x, const LossOptions& options);
  Loss(Function function, LossOptions options);
  Vars forward(const Vars& x) override { return {function_(x, options_)}; }

 private:
  Function function_;
  LossOptions options_;
};
#define MINNOW_LOSS(Name, function)                                                 \
  MINNOW_API Var function(const Vars& x, const LossOptions& options = {});          \
  struct Name : Loss {                                                              \
    explicit Name(LossOptions options = {}) : Loss(function, std::move(options)) {} \
  };
MINNOW_LOSS(CrossEntropyLoss, cross_entropy)  // scores [N, C, ...], classes [N, ...] or shares [N, C, ...]
MINNOW_LOSS(NLLLoss, nll_loss)                // logarithms of shares [N, C, ...], classes [N, ...]
MINNOW_LOSS(BCELoss, binary_cross_entropy)
MINNOW_LOSS(BCEWithLogitsLoss, binary_cross_entropy_with_logits)
MINNOW_LOSS(FocalLoss, focal_loss)
MINNOW_LOSS(DiceLoss, dice_loss)
MINNOW_LOSS(MultiMarginLoss, multi_margin_loss)  // scores [N, C], classes [N]
MINNOW_LOSS(SoftMarginLoss, soft_margin_loss)
MINNOW_LOSS(HingeLoss, hinge_loss)
MINNOW_LOSS(HingeEmbeddingLoss, hinge_embedding_loss)
MINNOW_LOSS(MSELoss, mse_loss)
MINNOW_LOSS(L1Loss, l1_loss)
MINNOW_LOSS(HuberLoss, huber_loss)
MINNOW_LOSS(SmoothL1Loss, smooth_l1_loss)
MINNOW_LOSS(LogCoshLoss, log_cosh_loss)
MINNOW_LOSS(KLDivLoss, kl_div)
MINNOW_LOSS(GaussianNLLLoss, gaussian_nll_loss)  // input, target, variance
MINNOW_LOSS(PoissonNLLLoss, poisson_nll_loss)
MINNOW_LOSS(DistillationLoss, distillation_loss)         // scores, the teacher's scores, and classes if given
MINNOW_LOSS(TripletMarginLoss, triplet_margin_loss)      // anchor, positive, negative [N, D]
MINNOW_LOSS(MarginRankingLoss, margin_ranking_loss)      // x1, x2, 1 or -1
MINNOW_LOSS(CosineEmbeddingLoss, cosine_embedding_loss)  // x1, x2 [N, D], 1 or -1
MINNOW_LOSS(InfoNCELoss, info_nce_loss)                  // queries, their positives [N, D]
MINNOW_LOSS(CTCLoss, ctc_loss)                           // logarithms of shares [T, N, C], targets [N, S], the lengths of both [N]
#undef MINNOW_LOSS

// Low-rank adapters: weight + alpha / rank B A, where B begins with zeros (Hu et al. 2021, arXiv:2106.09685). Files are those of minnow.nn.

/// Freezes the network and adds adapters to its Linear, convolution and attention layers whose names fit the pattern ("*": any characters).
/// Returns A and B of each, "0.lora.a", which are to be trained. Throws InvalidArgument for a rank below 1, if no layer fits and where
/// there are adapters already.
MINNOW_API Named lora(Layer& net, std::string_view pattern = "*", int64_t rank = 8, double alpha = 16);
/// Adds adapters to the weights, so that layers cost what they cost without and state_dict() is that of the plain network; takes them out
/// again, exactly. Throw InvalidArgument if there are none.
MINNOW_API void merge_lora(Layer& net);
MINNOW_API void unmerge_lora(Layer& net);
/// The adapters alone as a .safetensors file, and such a file into a network, whose own adapters it replaces. Throw FileError, InvalidModel
/// for a wrong file, InvalidArgument for one of another network or without adapters.
MINNOW_API void save_lora(Layer& net, const std::string& path);
MINNOW_API Named load_lora(Layer& net, const std::string& path);

// Training a part of a network. Names of parameters fit a pattern if they are its text, in which * stands for any characters and ? for one.

/// Training leaves the parameters whose names fit one of the patterns as they are, and computes no gradients for them. Returns their names.
/// Layer::parameters() then leaves them out; a TrainingStep that was made before has to be made again. Throws InvalidArgument if no name
/// fits.
MINNOW_API std::vector<std::string> freeze(const Module& net, const std::vector<std::string>& patterns = {"*"});
/// Undoes freeze() for the parameters whose names fit; returns their names. Throws InvalidArgument if no name fits.
MINNOW_API std::vector<std::string> unfreeze(const Module& net, const std::vector<std::string>& patterns = {"*"});
/// Freezes all parameters but biases, whose names it returns (Ben Zaken et al. 2021, arXiv:2106.10199). Throws InvalidArgument if there are
/// none.
MINNOW_API std::vector<std::string> train_biases_only(const Module& net);
/// Freezes all parameters but those of the last layers that can be trained within `memory` bytes for activations, gradients and the
/// optimizer's state; of layers before them the biases, as far as they fit (Lin et al. 2022, "On-device training under 256KB memory",
/// arXiv:2206.15472). Steps of the loss for such batches are planned for that, none is run. Returns the names of the parameters that are
/// trained. Throws InvalidArgument where the last layer alone takes more, and the errors of TrainingStep; then the same parameters are
/// frozen as before.
MINNOW_API std::vector<std::string> train_within(const Module& net, size_t memory, const TrainingStep::Loss& loss,
                                                 std::span<const std::pair<DType, Shape>> batch, const Optimizer::Config& optimizer);

/// The part of a network that makes features of a batch [N, ...]. A Module, such as one of load_module(), can be one: nn::features_of(net).
using Features = std::function<Var(const Var& batch)>;
/// Calls a module with one input and one output.
MINNOW_API Features features_of(std::shared_ptr<Module> module);

/// A head that knows classes by the means of their features, and learns one from a few pictures without gradients (Mensink et al. 2013;
/// Snell et al. 2017, arXiv:1703.05175).
///
///   nn::NearestClassMean head(nn::features_of(network_without_its_last_layer));
///   head.learn("mug", five_pictures);
///   const std::string name = head.classify(picture)[0];
///
/// Features are [N, D], or [N, C, ...], whose mean over the last axes counts; without a function, inputs are features. Scores are cosines.
/// Throws InvalidArgument where nothing was learned and for features of another size. Files of state_dict() are those of Python, which
/// lists the classes in the order in which they were learned; load_state_dict() lists them in alphabetical order.
class MINNOW_API NearestClassMean : public Layer {
 public:
  explicit NearestClassMean(Features features = {}) : features_(std::move(features)) {}
  /// Adds examples [N, ...] of a class, which may be new.
  void learn(const std::string& name, const Var& examples);
  /// Takes a class away.
  void forget(const std::string& name);
  /// Cosines [N, classes] between the features of inputs [N, ...] and the class means.
  Vars forward(const Vars& x) override;
  /// The name of the nearest class for each input.
  std::vector<std::string> classify(const Var& inputs);
  std::vector<std::string> names() const;
  /// "NAME.sum", f32 [D], of features of length 1, and "NAME.count", i64.
  std::map<std::string, Tensor> state_dict() const override;
  /// Takes the classes of a state_dict(), and forgets others. Throws InvalidArgument for another state.
  void load_state_dict(const std::map<std::string, Tensor>& state) override;

 private:
  struct Class {
    std::string name;
    Tensor sum;
    int64_t count;
  };
  Tensor unit_features(const Var& inputs);
  Features features_;
  std::vector<Class> classes_;
};

struct CacheOptions {
  /// A .safetensors file for the features. If it has those of this network and of as many samples already, nothing is computed. Without
  /// one, features of more than memory_limit bytes go to a file in the folder for temporary ones (TMPDIR), which nobody else sees.
  std::string path = {};
  int64_t batch_size = 32;
  size_t memory_limit = size_t{1} << 30;
  std::string key = {};  // tells files of different functions apart; of a Layer, its weights do
};
/// A data set of the features of another one, computed once: sample i is {features, rest...}, where the other one's is {input, rest...}.
/// Many threads may call it. Throws InvalidArgument for an empty data set, for inputs of several shapes, and for a `path` with other
/// contents, which stay there.
class MINNOW_API CachedFeatures : public data::Dataset {
 public:
  /// `net`: the frozen part of a network, which is called in evaluation mode.
  CachedFeatures(const std::shared_ptr<Module>& net, data::DatasetPtr dataset, const CacheOptions& options = {});
  CachedFeatures(const Features& features, data::DatasetPtr dataset, const CacheOptions& options = {});
  int64_t size() const override;
  data::Sample get(int64_t index, data::Random& random) const override;
  std::vector<std::string> classes() const override;
  bool on_disk() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Initial values, with torch's names: each function changes a parameter in place, and each call draws from a stream of its own; nn::seed()
/// decides which. They throw InvalidArgument for shapes that do not fit.
namespace init {

struct Fans {
  int64_t in, out;
};
/// How many inputs an output has, and how many outputs an input, of a matrix [out, in] or filters [out, in, ...].
MINNOW_API Fans fans(const Var& parameter);
/// The factor that keeps variances through an activation ("relu", "tanh", "leaky_relu" with that slope ...).
MINNOW_API double calculate_gain(std::string_view nonlinearity, double slope = 0.01);

MINNOW_API void uniform_(const Var& parameter, double a = 0, double b = 1);
MINNOW_API void normal_(const Var& parameter, double mean = 0, double deviation = 1);
/// Normal numbers between a and b: those outside are drawn again. Throws InvalidArgument if a to b is more than two deviations away from
/// the mean.
MINNOW_API void trunc_normal_(const Var& parameter, double mean = 0, double deviation = 1, double a = -2, double b = 2);
MINNOW_API void constant_(const Var& parameter, double value);
MINNOW_API void zeros_(const Var& parameter);
MINNOW_API void ones_(const Var& parameter);
MINNOW_API void eye_(const Var& parameter);                        // of a matrix
MINNOW_API void dirac_(const Var& parameter, int64_t groups = 1);  // filters that give their input back
/// Glorot, Bengio 2010: the deviation is gain sqrt(2 / (inputs + outputs)).
MINNOW_API void xavier_uniform_(const Var& parameter, double gain = 1);
MINNOW_API void xavier_normal_(const Var& parameter, double gain = 1);
/// He et al. 2015: the deviation is gain / sqrt(inputs), or outputs. `a`: the slope of "leaky_relu".
enum class Fan : uint8_t { in, out };
struct Kaiming {
  double a = 0;
  Fan mode = Fan::in;
  std::string_view nonlinearity = "leaky_relu";
};
MINNOW_API void kaiming_uniform_(const Var& parameter, const Kaiming& how = {});
MINNOW_API void kaiming_normal_(const Var& parameter, const Kaiming& how = {});
/// Saxe et al. 2014: orthonormal rows, or columns, of [out, in * ...], times gain.
MINNOW_API void orthogonal_(const Var& parameter, double gain = 1);

}  // namespace init

}  // namespace minnow::nn

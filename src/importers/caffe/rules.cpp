// SPDX-License-Identifier: Apache-2.0
// The one table of import rules for Caffe's layers, including those of common forks.
#include "importers/caffe/rules.h"

#include <algorithm>

namespace minnow::caffe {
namespace {

constexpr Rule kRules[] = {
    // Elements by themselves, and scales along channels.
    {"AbsVal", import_unary, "Abs"},
    {"Axpy", import_axpy},
    {"BatchNorm", import_batch_norm},
    {"Bias", import_bias},
    {"BN", import_bn},
    {"BNLL", import_unary, "Softplus"},
    {"Clip", import_clip},
    {"Cosine", import_unary, "Cos"},
    {"Dropout", import_dropout},
    {"ELU", import_elu},
    {"Eltwise", import_eltwise},
    {"Exp", import_exp},
    {"HardSigmoid", import_hard_sigmoid},
    {"HardSwish", import_unary, "HardSwish"},
    {"HSigmoid", import_hard_sigmoid},
    {"HSwish", import_unary, "HardSwish"},
    {"Hswish", import_unary, "HardSwish"},
    {"Log", import_log},
    {"Mish", import_unary, "Mish"},
    {"Power", import_power},
    {"PReLU", import_prelu},
    {"ReLU", import_relu},
    {"ReLU6", import_relu6},
    {"Scale", import_scale},
    {"Sigmoid", import_unary, "Sigmoid"},
    {"Sine", import_unary, "Sin"},
    {"Softplus", import_unary, "Softplus"},
    {"Swish", import_swish},
    {"TanH", import_unary, "Tanh"},
    {"Threshold", import_threshold},

    // Windows, products, normalizations, recurrence.
    {"Convolution", import_convolution},
    {"ConvolutionDepthwise", import_convolution},
    {"Deconvolution", import_deconvolution},
    {"DepthwiseConvolution", import_convolution},
    {"DeconvolutionDepthwise", import_deconvolution},
    {"Embed", import_embed},
    {"InnerProduct", import_inner_product, {}, true},
    {"Interp", import_interp, {}, true},
    {"LRN", import_lrn},
    {"LSTM", import_lstm},
    {"MatMul", import_matmul},
    {"MVN", import_mvn},
    {"Norm", import_normalize},
    {"Normalize", import_normalize},
    {"Pooling", import_pooling},
    {"RNN", import_rnn},
    {"Softmax", import_softmax},
    {"SoftmaxWithLoss", import_softmax},
    {"SPP", import_spp, {}, true},
    {"Upsample", import_upsample},

    // Shapes.
    {"ArgMax", import_arg_max, {}, true},
    {"BatchReindex", import_batch_reindex},
    {"Concat", import_concat},
    {"Crop", import_crop},
    {"Flatten", import_flatten},
    {"Parameter", import_parameter},
    {"Permute", import_permute},
    {"Reduction", import_reduction},
    {"Reshape", import_reshape, {}, true},
    {"Reverse", import_reverse},
    {"ShuffleChannel", import_shuffle_channel},
    {"Silence", import_silence},
    {"Slice", import_slice},
    {"Split", import_split},
    {"Tile", import_tile},

    // Detection.
    {"DetectionOutput", import_detection_output, {}, true},
    {"PriorBox", import_prior_box, {}, true},
    {"Proposal", import_proposal, {}, true},
    {"PSROIPooling", import_ps_roi_pooling, {}, true},
    {"ROIAlign", import_roi_align},
    {"ROIPooling", import_roi_pooling},
    {"SigmoidCrossEntropyLoss", import_unary, "Sigmoid"},

    // Layers for training only.
    {"Accuracy", nullptr},
    {"ContrastiveLoss", nullptr},
    {"EuclideanLoss", nullptr},
    {"HingeLoss", nullptr},
    {"InfogainLoss", nullptr},
    {"MultinomialLogisticLoss", nullptr},
    {"MultiBoxLoss", nullptr},
    {"SmoothL1Loss", nullptr},
    {"DetectionEvaluate", nullptr},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

const Rule* find_rule(std::string_view type) {
  const auto found = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& rule) { return rule.type == type; });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace minnow::caffe

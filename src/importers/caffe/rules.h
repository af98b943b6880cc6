// SPDX-License-Identifier: Apache-2.0
// The builders that the rule table (rules.cpp) names, by the file that defines them.
#pragma once
#include "importers/caffe/caffe_layer.h"

namespace minnow::caffe {

// rules_elementwise.cpp
Exprs import_unary(CaffeLayer& layer, Parts& p);  // target: the operator
Exprs import_identity(CaffeLayer& layer, Parts& p);
Exprs import_axpy(CaffeLayer& layer, Parts& p);
Exprs import_batch_norm(CaffeLayer& layer, Parts& p);
Exprs import_bias(CaffeLayer& layer, Parts& p);
Exprs import_bn(CaffeLayer& layer, Parts& p);
Exprs import_clip(CaffeLayer& layer, Parts& p);
Exprs import_eltwise(CaffeLayer& layer, Parts& p);
Exprs import_elu(CaffeLayer& layer, Parts& p);
Exprs import_exp(CaffeLayer& layer, Parts& p);
Exprs import_log(CaffeLayer& layer, Parts& p);
Exprs import_power(CaffeLayer& layer, Parts& p);
Exprs import_prelu(CaffeLayer& layer, Parts& p);
Exprs import_relu(CaffeLayer& layer, Parts& p);
Exprs import_relu6(CaffeLayer& layer, Parts& p);
Exprs import_scale(CaffeLayer& layer, Parts& p);
Exprs import_swish(CaffeLayer& layer, Parts& p);
Exprs import_threshold(CaffeLayer& layer, Parts& p);
Exprs import_hard_sigmoid(CaffeLayer& layer, Parts& p);

// rules_network.cpp
Exprs import_convolution(CaffeLayer& layer, Parts& p);
Exprs import_deconvolution(CaffeLayer& layer, Parts& p);
Exprs import_embed(CaffeLayer& layer, Parts& p);
Exprs import_inner_product(CaffeLayer& layer, Parts& p);
Exprs import_interp(CaffeLayer& layer, Parts& p);
Exprs import_lrn(CaffeLayer& layer, Parts& p);
Exprs import_lstm(CaffeLayer& layer, Parts& p);
Exprs import_rnn(CaffeLayer& layer, Parts& p);
Exprs import_matmul(CaffeLayer& layer, Parts& p);
Exprs import_mvn(CaffeLayer& layer, Parts& p);
Exprs import_normalize(CaffeLayer& layer, Parts& p);
Exprs import_pooling(CaffeLayer& layer, Parts& p);
Exprs import_softmax(CaffeLayer& layer, Parts& p);
Exprs import_spp(CaffeLayer& layer, Parts& p);
Exprs import_upsample(CaffeLayer& layer, Parts& p);

// rules_shape.cpp
Exprs import_arg_max(CaffeLayer& layer, Parts& p);
Exprs import_batch_reindex(CaffeLayer& layer, Parts& p);
Exprs import_concat(CaffeLayer& layer, Parts& p);
Exprs import_crop(CaffeLayer& layer, Parts& p);
Exprs import_flatten(CaffeLayer& layer, Parts& p);
Exprs import_parameter(CaffeLayer& layer, Parts& p);
Exprs import_permute(CaffeLayer& layer, Parts& p);
Exprs import_reduction(CaffeLayer& layer, Parts& p);
Exprs import_reshape(CaffeLayer& layer, Parts& p);
Exprs import_reverse(CaffeLayer& layer, Parts& p);
Exprs import_shuffle_channel(CaffeLayer& layer, Parts& p);
Exprs import_silence(CaffeLayer& layer, Parts& p);
Exprs import_slice(CaffeLayer& layer, Parts& p);
Exprs import_split(CaffeLayer& layer, Parts& p);
Exprs import_tile(CaffeLayer& layer, Parts& p);

// rules_detection.cpp
Exprs import_detection_output(CaffeLayer& layer, Parts& p);
Exprs import_prior_box(CaffeLayer& layer, Parts& p);
Exprs import_roi_pooling(CaffeLayer& layer, Parts& p);
Exprs import_roi_align(CaffeLayer& layer, Parts& p);

}  // namespace minnow::caffe

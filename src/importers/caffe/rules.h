// SPDX-License-Identifier: Apache-2.0
// The builders that the rule table (rules.cpp) names, by the file that defines them.
#pragma once
#include "importers/caffe/caffe_layer.h"

namespace minnow::caffe {

// rules_elementwise.cpp
Builder import_identity, import_axpy, import_batch_norm, import_bias, import_bn, import_clip, import_dropout, import_eltwise, import_elu,
    import_exp, import_log, import_power, import_prelu, import_relu, import_relu6, import_scale, import_swish, import_threshold,
    import_hard_sigmoid;
Builder import_unary;  // target: the operator

// rules_network.cpp
Builder import_convolution, import_deconvolution, import_embed, import_inner_product, import_interp, import_lrn, import_lstm, import_rnn,
    import_matmul, import_mvn, import_normalize, import_pooling, import_softmax, import_spp, import_upsample;

// rules_shape.cpp
Builder import_arg_max, import_batch_reindex, import_concat, import_crop, import_flatten, import_parameter, import_permute,
    import_reduction, import_reshape, import_reverse, import_shuffle_channel, import_silence, import_slice, import_split, import_tile;

// rules_detection.cpp
Builder import_detection_output, import_prior_box, import_proposal, import_ps_roi_pooling, import_roi_pooling, import_roi_align;

}  // namespace minnow::caffe

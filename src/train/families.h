// SPDX-License-Identifier: Apache-2.0
// The families of optimizers: their loops, and the functions that compute coefficients for them.
#pragma once
#include "train/targets.h"

namespace minnow::train {

const Family& common_family();    // what optimizers share: norms, accumulation, averages
const Family& descent_family();   // sgd.cpp
const Family& adam_family();      // adam.cpp
const Family& moments_family();   // moments.cpp
const Family& adagrad_family();   // adagrad.cpp
const Family& sign_family();      // sign.cpp
const Family& layer_family();     // layers.cpp
const Family& factored_family();  // factored.cpp
const Family& muon_family();      // muon.cpp

/// One iteration of L-BFGS without a line search.
void lbfgs(std::span<const Member> tensors);
/// One iteration with a line search. `again` computes loss and gradients at the weights as they are.
void lbfgs_search(std::span<const Member> tensors, double loss, const std::function<double()>& again);

namespace coefficients {
void sgd(Step& step);
void asgd(Step& step);
void schedule_free(Step& step);
void adam(Step& step);
void adamax(Step& step);
void nadam(Step& step);
void radam(Step& step);
void yogi(Step& step);
void adabelief(Step& step);
void adan(Step& step);
void ademamix(Step& step);
void adopt(Step& step);
void sophia(Step& step);
void adagrad(Step& step);
void adadelta(Step& step);
void rmsprop(Step& step);
void lion(Step& step);
void rprop(Step& step);
void lamb_norms(Step& step);
void lamb(Step& step);
void lars_norms(Step& step);
void lars(Step& step);
void novograd_norm(Step& step);
void novograd(Step& step);
void prodigy_estimate(Step& step);
void prodigy(Step& step);
void adafactor(Step& step);
void sm3(Step& step);
void muon(Step& step);
}  // namespace coefficients

}  // namespace minnow::train

// SPDX-License-Identifier: Apache-2.0
// The tables of kernels of one instruction set.
#pragma once
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels/any_all.h"
#include "backends/cpu/kernels/argmax.h"
#include "backends/cpu/kernels/attention.h"
#include "backends/cpu/kernels/bf16.h"
#include "backends/cpu/kernels/binary.h"
#include "backends/cpu/kernels/byte_depthwise.h"
#include "backends/cpu/kernels/chain.h"
#include "backends/cpu/kernels/channels.h"
#include "backends/cpu/kernels/combine.h"
#include "backends/cpu/kernels/depthwise.h"
#include "backends/cpu/kernels/f16.h"
#include "backends/cpu/kernels/filter_gradient.h"
#include "backends/cpu/kernels/functions32.h"
#include "backends/cpu/kernels/functions64.h"
#include "backends/cpu/kernels/integer.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/matmul_f64_i32.h"
#include "backends/cpu/kernels/min_max.h"
#include "backends/cpu/kernels/nbits.h"
#include "backends/cpu/kernels/pool.h"
#include "backends/cpu/kernels/pool_gradient.h"
#include "backends/cpu/kernels/recurrent.h"
#include "backends/cpu/kernels/resample.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/kernels/sparse.h"
#include "backends/cpu/kernels/sum_product.h"
#include "backends/cpu/kernels/tile.h"
#include "backends/cpu/kernels/unary.h"
#include "backends/cpu/kernels/unary64.h"
#include "backends/cpu/kernels/winograd.h"

namespace minnow::cpu {

struct Kernels {
  Isa isa;
  size_t lanes;
  const TileKernels* tile;
  const UnaryKernels* unary;
  const Unary64Kernels* unary64;
  const BinaryKernels* binary;
  const ChainKernels* chain;
  const MinMaxKernels* min_max;
  const DepthwiseKernels* depthwise;
  const PoolKernels* pool;
  const LayoutKernels* layout;
  const WinogradKernels* winograd;
  const RowKernels* rows;
  const ResampleKernels* resample;
  const RecurrentKernels* recurrent;
  const AttentionKernels* attention;
  const IntegerKernels* integer;
  const ByteDepthwiseKernels* byte_depthwise;
  const Bf16Forms* bf16;
  const F16Form* f16;
  const F64I32Kernels* f64_i32;
  const CombineKernels* combine;
  const SumProductKernels* sum_product;
  const AnyAllKernels* any_all;
  const ArgmaxKernels* argmax;
  const Functions32Kernels* functions32;
  const Functions64Kernels* functions64;
  const NBitsKernels* nbits;
  const SparseKernels* sparse;
  const ChannelKernels* channels;
  const PoolGradientKernels* pool_gradient;
  const FilterGradientKernels* filter_gradient;
};

/// Throws InternalError for one that available_isas() does not name.
const Kernels& kernels_for(Isa isa);

}  // namespace minnow::cpu

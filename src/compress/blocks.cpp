// SPDX-License-Identifier: Apache-2.0
#include "compress/blocks.h"

#include <algorithm>
#include <cstring>

#include "base/numeric.h"

namespace minnow::compress {
namespace {

constexpr BlockMethod kMethods[] = {
    {"rtn", "each weight to the nearest integer; needs no samples", false},
    {"hqq", "half-quadratic: zero points that set outliers apart; needs no samples", false},
    {"gptq", "one weight after the other; the rest take up the errors", true},
    {"awq", "factors move between inputs and weights, so that large inputs meet small errors", true},
};

Tensor reals(DType dtype, const Shape& shape, std::span<const BlockGrid> grids, float BlockGrid::*member) {
  std::vector<double> values;
  for (const BlockGrid& grid : grids) values.push_back(static_cast<double>(grid.*member));
  Tensor tensor(dtype, shape);
  if (!values.empty()) narrow(dtype, values.data(), values.size(), tensor.writable().data());
  return tensor;
}

}  // namespace

std::span<const BlockMethod> block_methods() { return kMethods; }

const BlockMethod* block_method(std::string_view name) {
  const auto found = std::find_if(std::begin(kMethods), std::end(kMethods), [&](const BlockMethod& each) { return each.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

BlockRows::BlockRows(const BlockForm& of, size_t rows, size_t columns)
    : form(of), channels(rows), depth(columns), integers(rows * columns), grids(rows * blocks()) {}

Rows BlockRows::numbers() const {
  Rows rows;
  rows.channels = channels, rows.depth = depth;
  rows.values.resize(integers.size());
  for (size_t c = 0; c < channels; ++c)
    for (size_t i = 0; i < depth; ++i) rows.row(c)[i] = grids_of(c)[i / form.block].number(integers[c * depth + i]);
  return rows;
}

BlockRows::Tensors BlockRows::packed(int bits, DType scales) const {
  const NBits to{static_cast<int64_t>(depth), bits, static_cast<int64_t>(form.block)};
  const int64_t rows = static_cast<int64_t>(channels);
  const int shift = form.symmetric ? to.middle() - form.middle() : 0;
  Tensors made;
  made.numbers = Tensor(DType::u8, {rows, to.blocks(), to.bytes()});
  uint8_t* numbers = made.numbers.writable().data<uint8_t>();
  for (size_t c = 0; c < channels; ++c)
    for (size_t i = 0; i < depth; ++i)
      to.set_number(numbers + (c * blocks() + i / form.block) * static_cast<size_t>(to.bytes()), i % form.block,
                    integers[c * depth + i] + shift);
  made.scales = reals(scales, {rows, to.blocks()}, grids, &BlockGrid::scale);
  if (form.symmetric) return made;
  if (real_zeros) {
    made.zeros = reals(scales, {rows, to.blocks()}, grids, &BlockGrid::zero);
    return made;
  }
  made.zeros = Tensor(DType::u8, {rows, to.zero_point_bytes()});
  uint8_t* zeros = made.zeros.writable().data<uint8_t>();
  for (size_t c = 0; c < channels; ++c)
    for (size_t b = 0; b < blocks(); ++b)
      to.set_number(zeros + c * static_cast<size_t>(to.zero_point_bytes()), b, static_cast<int>(grids_of(c)[b].zero));
  return made;
}

BlockRows::Tensors BlockRows::plain(DType scales) const {
  const Shape each{static_cast<int64_t>(channels), static_cast<int64_t>(depth)},
      of_blocks{static_cast<int64_t>(channels), static_cast<int64_t>(blocks())};
  const DType dtype = form.symmetric ? form.bits <= 4 ? DType::i4 : DType::i8 : form.bits <= 4 ? DType::u4 : DType::u8;
  const int shift = form.symmetric ? form.middle() : 0;
  Tensors made{Tensor(dtype, each), reals(scales, of_blocks, grids, &BlockGrid::scale), {}};
  uint8_t* numbers = static_cast<uint8_t*>(made.numbers.writable().data());
  for (size_t i = 0; i < integers.size(); ++i) numbers[i] = static_cast<uint8_t>(integers[i] - shift);
  if (form.symmetric) return made;
  made.zeros = Tensor(dtype, of_blocks);
  uint8_t* zeros = static_cast<uint8_t*>(made.zeros.writable().data());
  for (size_t i = 0; i < grids.size(); ++i) zeros[i] = static_cast<uint8_t>(grids[i].zero);
  return made;
}

size_t BlockRows::bytes() const noexcept {
  const NBits of{static_cast<int64_t>(depth), form.bits, static_cast<int64_t>(form.block)};
  const size_t scale = form.half ? 2 : 4;
  const size_t zeros = form.symmetric ? 0 : real_zeros ? blocks() * scale : static_cast<size_t>(of.zero_point_bytes());
  return channels * (blocks() * (static_cast<size_t>(of.bytes()) + scale) + zeros);
}

}  // namespace minnow::compress

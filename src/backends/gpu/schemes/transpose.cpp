// SPDX-License-Identifier: Apache-2.0
// Transposes through shared memory: a group brings a tile in whose rows are neighbours in the input, and writes it in rows that are
// neighbours in the output. Words of 32 bits: elements, or pairs of elements of 16 bits.
#include "backends/gpu/schemes/kernel_text.h"

namespace minnow::gpu {
namespace {

constexpr int64_t kLeast = 32;  // of both axes; with fewer, tiles stay empty

// An output [..., r, ..., c]: axis r is the input's last one. Other axes: a step in the input and in the output.
struct Tiles {
  int64_t rows = 0, columns = 0, row_step = 0, column_step = 0;  // of r and c; r's step in the output, c's in the input
  struct Axis {
    int64_t size, from, to;
  };
  std::vector<Axis> others;  // neighbours that both sides step through alike are one
  bool words = false;        // pairs of 16 bits

  int64_t count() const {
    int64_t count = 1;
    for (const Axis& axis : others) count *= axis.size;
    return count;
  }
};

// No rows: the last axis stays the last one, or an axis is short.
Tiles tiles_of(const NodeView& node) {
  const Shape &x = node.input_shape(0), &y = node.output_shape(0);
  const Ints* perm = node.find<Ints>("perm");
  const size_t rank = x.rank();
  std::vector<Tiles::Axis> axes;  // of the output, from the first
  int64_t step = 1;
  Ints from(rank);
  for (size_t axis = rank; axis-- > 0;) from[axis] = step, step *= x[axis];
  step = 1;
  for (size_t axis = rank; axis-- > 0;) {
    const Tiles::Axis next{y[axis], from[perm ? node.normalize_axis((*perm)[axis], rank) : rank - 1 - axis], step};
    step *= next.size;
    if (next.size == 1) continue;
    if (!axes.empty() && next.from == axes.front().from * axes.front().size)
      axes.front().size *= next.size;
    else
      axes.insert(axes.begin(), next);
  }
  Tiles tiles;
  if (axes.size() < 2 || axes.back().from == 1) return tiles;
  tiles.columns = axes.back().size, tiles.column_step = axes.back().from;
  axes.pop_back();
  for (const Tiles::Axis& axis : axes)
    if (axis.from == 1)
      tiles.rows = axis.size, tiles.row_step = axis.to;
    else
      tiles.others.push_back(axis);
  if (tiles.rows < kLeast || tiles.columns < kLeast) tiles.rows = 0;
  if (size_of(node.output(0).dtype) == 2) {
    tiles.words = true;
    bool even = tiles.rows % 2 == 0 && tiles.columns % 2 == 0 && tiles.column_step % 2 == 0 && tiles.row_step % 2 == 0;
    for (const Tiles::Axis& axis : tiles.others) even = even && axis.from % 2 == 0 && axis.to % 2 == 0;
    if (!even) tiles.rows = 0;
  }
  return tiles;
}

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_move(node); !reason.empty()) return declined("{}", reason);
  const size_t size = size_of(node.output(0).dtype);
  if (size != 2 && size != 4) return declined("elements have {} bytes", static_cast<int64_t>(size));
  if (tiles_of(node).rows == 0) return declined("the last axis stays, an axis is short, or elements do not make pairs");
  return Estimate(0.5 * estimate_of(node, device).seconds);
}

// A tile has 32 words along r and 64 along c. Neighbouring items read along r and write along c.
constexpr std::string_view kSource = R"(
  LOCAL u32 tile[64 * 33];
  const int lane = ITEM(0) % 32, first = ITEM(0) / 32;
  const int tile_c = GROUP(0) % tiles_c, tile_r = GROUP(0) / tiles_c % tiles_r;
  int rest = GROUP(0) / tiles_c / tiles_r, from = 0, to = 0;
  PLACE
  const int r = tile_r * 32 + lane, c0 = tile_c * 64;
  UNROLL for (int t = 0; t < 64; t += 8) {
    const int c = c0 + t + first;
    if (r < rows && c < columns) tile[(t + first) * 33 + lane] = x[from + c * column_step + r];
  }
  BARRIER();
)";
constexpr std::string_view kStoreElements = R"(
  UNROLL for (int t = 0; t < 32; t += 8) {
    const int row = tile_r * 32 + t + first;
    UNROLL for (int side = 0; side < 64; side += 32) {
      const int c = c0 + side + lane;
      if (row < rows && c < columns) y[to + row * row_step + c] = tile[(side + lane) * 33 + t + first];
    }
  }
)";
constexpr std::string_view kStorePairs = R"(
  UNROLL for (int t = 0; t < 32; t += 8) {
    const int row = tile_r * 32 + t + first, c = c0 + lane * 2;
    if (row < rows && c < columns) {
      const u32 a = tile[lane * 66 + t + first], b = tile[lane * 66 + 33 + t + first];
      const int at = to + row * 2 * row_step + c / 2;
      y[at] = (a & 65535u) | (b << 16);
      y[at + row_step] = (a >> 16) | (b & 4294901760u);
    }
  }
)";

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const Tiles tiles = tiles_of(node);
  const int64_t pair = tiles.words ? 2 : 1, rows = tiles.rows / pair;
  auto kernel = std::make_unique<Launches>(context);
  KernelText text(*kernel, node);
  if (tiles.words)
    text.input_words(0, "x"), text.output_words(0, "y");
  else
    text.input(0, "x", true), text.output(0, "y", true);
  const int64_t tiles_r = (rows + 31) / 32, tiles_c = (tiles.columns + 63) / 64;
  text.number("rows", rows);
  text.number("columns", tiles.columns);
  text.number("row_step", tiles.row_step / pair);
  text.number("column_step", tiles.column_step / pair);
  text.number("tiles_r", tiles_r);
  text.number("tiles_c", tiles_c);
  std::string place;
  for (size_t i = tiles.others.size(); i-- > 0;) {
    const Tiles::Axis& axis = tiles.others[i];
    text.number(format("size{}", i), axis.size);
    text.number(format("from{}", i), axis.from / pair);
    text.number(format("to{}", i), axis.to / pair);
    place += format("from += rest % size{} * from{}; to += rest % size{} * to{}; rest /= size{}; ", i, i, i, i, i);
  }
  text.define("PLACE", place);
  text.add_groups("transpose", tiles.count() * tiles_r * tiles_c, 256,
                  std::string(kSource) + std::string(tiles.words ? kStorePairs : kStoreElements));
  return kernel;
}

constexpr Scheme kSchemes[] = {{"Transpose", "gpu.transpose.tiled", estimate, prepare}};

}  // namespace

std::span<const Scheme> transpose_schemes() { return kSchemes; }

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
#include "backends/row_tiling.h"

#include <algorithm>
#include <vector>

namespace minnow {
#if !MINNOW_SMALL  // no kernel of a small build computes rows
namespace {

// How many kernels a chain has at most, and how many rows each thread computes at a time.
constexpr size_t kMostStages = 32, kMostRows = 4;

// Bytes of rows and weights that may be in use at a time. More than the cores' own caches hold, because much of that is read once or
// needed no more: MobileNet-v1, 1792x1792, took 548 ms whole, 527, 511, 505 and 504 by chains of 0.75, 1, 1.5 and 2.5 times L2 (AVX-512,
// Xeon, one thread, 2026-11-23, `minnow bench`).
size_t most_bytes_in_use(const Device& device) {
  return device.low_memory ? SIZE_MAX : device.l2 / 2 * 3 * static_cast<size_t>(device.threads);
}

// A stage with the rows that it computes at a time, and its output: a ring of `kept` rows, or the whole image of the last stage.
struct Tile : RowStage {
  explicit Tile(const RowStage& stage) : RowStage(stage), reading(stage.kernel->reading()), row(stage.image / stage.height) {}
  RowKernel::Reading reading;
  size_t row;                   // bytes of a row of all channels
  size_t at_once = 0;           // rows
  size_t kept = 0, offset = 0;  // rows of the ring, and its offset in the scratch
  // The end of the input rows from which output rows up to `end` are computed.
  size_t read_end(size_t end, size_t in_height) const noexcept {
    const size_t at = (end - 1) * reading.stride + reading.extent;
    return std::min(in_height, at > reading.pad ? at - reading.pad : 0);
  }
};

// Chooses how many rows each stage computes at a time and keeps if the last one computes `rows`. Returns the bytes in use at a time.
size_t arrange(std::vector<Tile>& tiles, size_t rows) {
  size_t bytes = 0;
  for (size_t i = tiles.size(); i-- > 0;) {
    Tile& t = tiles[i];
    t.at_once = t.kept = std::min(rows, t.height);
    if (i + 1 < tiles.size()) {
      const Tile& next = tiles[i + 1];
      t.kept = std::min(t.height, std::max(t.at_once, (next.at_once - 1) * next.reading.stride + next.reading.extent));
    }
    bytes += t.kept * t.row + t.weights;
    rows = t.at_once * t.reading.stride;
  }
  return bytes;
}

// The stages with the rows of each; empty if they do not fit.
std::vector<Tile> tiles_of(std::span<const RowStage> stages, const Device& device) {
  if (stages.size() > kMostStages) return {};
  std::vector<Tile> tiles(stages.begin(), stages.end());
  const size_t threads = static_cast<size_t>(device.threads);
  size_t rows = threads;
  const size_t most = most_bytes_in_use(device);
  if (arrange(tiles, rows) > most) return {};
  while (!device.low_memory && rows < kMostRows * threads && arrange(tiles, 2 * rows) <= most) rows *= 2;
  arrange(tiles, rows);
  const bool fits = std::all_of(tiles.begin(), tiles.end() - 1, [](const Tile& t) { return 2 * t.kept <= t.height; });
  return fits ? tiles : std::vector<Tile>();
}

// Computes some rows of the last image, in order, and of the images before it the rows that these read.
class Chain final : public Kernel {
 public:
  Chain(std::vector<Tile> tiles, const RowTilingInputs& inputs)
      : tiles_(std::move(tiles)),
        add_(inputs.add),
        images_(inputs.images),
        input_image_(inputs.input_bytes / inputs.images),
        scratch_(align_up(inputs.scratch_bytes)) {
    for (size_t i = 0; i < tiles_.size(); ++i) {
      Tile& t = tiles_[i];
      const bool last = i + 1 == tiles_.size();
      t.kernel->cut_rows(i ? tiles_[i - 1].kept : SIZE_MAX, last ? SIZE_MAX : t.kept);
      t.offset = scratch_;
      if (!last) scratch_ += align_up(t.kept * t.row);
    }
  }
  size_t scratch_bytes() const noexcept { return scratch_; }

  void run(RunContext& context) const noexcept override {
    for (size_t image = 0; image < images_; ++image) {
      Progress progress{image, {}};
      advance(tiles_.size() - 1, tiles_.back().height, progress, context);
    }
  }

 private:
  struct Progress {
    size_t image;
    size_t done[kMostStages];  // rows of each stage's output
  };

  // Computes the stage's output up to that row, including the rows of earlier stages that it reads.
  void advance(size_t i, size_t row, Progress& progress, RunContext& context) const noexcept {
    const Tile& t = tiles_[i];
    const bool last = i + 1 == tiles_.size();
    const size_t image = progress.image;
    const float* add = add_ && last ? context.in<float>(1) + image * t.image / sizeof(float) : nullptr;
    const char* x = i > 0 ? context.scratch_at(tiles_[i - 1].offset) : context.in<char>(0) + image * input_image_;
    char* y = last ? context.out<char>(0) + image * t.image : context.scratch_at(t.offset);
    for (size_t& done = progress.done[i]; done < row;) {
      const size_t end = std::min(row, done + t.at_once);
      if (i > 0) advance(i - 1, t.read_end(end, tiles_[i - 1].height), progress, context);
      t.kernel->run_rows(context, reinterpret_cast<const float*>(x), add, reinterpret_cast<float*>(y), done, end);
      done = end;
    }
  }

  std::vector<Tile> tiles_;
  bool add_;
  size_t images_, input_image_, scratch_;
};

}  // namespace

size_t least_tiled_bytes(const Device& device) {
  return device.low_memory ? size_t{64} << 10 : 4 * device.l2 * static_cast<size_t>(device.threads);
}

bool fits_row_tiling(std::span<const RowStage> stages, const Device& device) { return !tiles_of(stages, device).empty(); }

RowTiling make_row_tiling(std::span<const RowStage> stages, const Device& device, const RowTilingInputs& inputs) {
  auto chain = std::make_unique<Chain>(tiles_of(stages, device), inputs);
  const size_t bytes = chain->scratch_bytes();
  return {std::move(chain), bytes};
}
#endif

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu.h"

#include <algorithm>
#include <chrono>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/schemes.h"
#include "base/os.h"

namespace minnow {
namespace {

using namespace cpu;

// Multiply-adds per nanosecond of one core. Dozens of cores from 2013 to 2025 reach them within a factor of two, and ratios between
// schemes do not depend on them. Bandwidths are those of a core with AVX-512 (docs/architecture.md gives their source); narrower vectors
// move less from L1 and L2.
CpuDevice device_of(Isa isa, const BackendOptions& options) {
  CpuDevice device;
  device.isa = isa;
  device.kernels = &kernels_for(isa);
  device.name = "cpu " + std::string(cpu::name_of(isa));
  device.pack = lanes_of(isa);
  device.threads = std::max(1, options.threads > 0 ? options.threads : os::available_cores());
  device.precision = options.precision;
  device.low_memory = options.low_memory;
  const double width = lanes_of(isa) / 16.0;
  device.flops = 250e9 * (is_double_pumped(isa) ? width / 2 : width);
  device.l1_bandwidth = 400e9 * width;
  device.l2_bandwidth = 190e9 * std::min(1.0, 1.5 * width);
  device.l3_bandwidth = 100e9 * std::min(1.0, 2 * width);
  device.memory_bandwidth = 30e9;
  const os::CacheSizes caches = os::cache_sizes();
  device.l1 = caches.l1;
  device.l2 = caches.l2;
  device.l3 = caches.l3;
  // A last cache of that size is spread over the tiles of a mesh: a core waits for it almost as long as for memory (13 GB/s, measured on an
  // Emerald Rapids whose tile reaches 183 GFLOP/s), but cores hardly disturb each other. Tens of cores share it, often with others' work:
  // counted on for a part, VGG-16's convolutions take 164 MB instead of 234, and 86 ms instead of 90.
  if (caches.l3 > (size_t{128} << 20)) {
    device.l3 = size_t{32} << 20;
    device.l3_bandwidth = device.memory_bandwidth = 18e9;
    device.far_scaling = 0.9;
  }
  return device;
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const BackendOptions& options) : device_(device_of(best_isa(options.isa), options)), schemes_(scheme_table()) {}
  std::string_view name() const override { return "cpu"; }
  const Device& device() const override { return device_; }
  std::span<const Scheme> schemes() const override { return schemes_; }

  // The register tile on data that stays in L1, on every thread at once.
  double measure_peak() override {
    constexpr size_t kChannels = 256;
    const TileKernels& tile = *device_.kernels->tile;
    const size_t lanes = device_.kernels->lanes, rows = static_cast<size_t>(tile.rows[2]);
    const size_t threads = static_cast<size_t>(device_.threads);
    std::vector<std::vector<float>> memory(threads,
                                           std::vector<float>(2 * kChannels * lanes + kChannels * rows + 2 * rows * lanes + 64, 1e-3f));
    if (threads > 1) ThreadPool::process().reserve(device_.threads);
    const auto work = [&](size_t thread, int repeats) {
      float* base = memory[thread].data();
      const ptrdiff_t taps[] = {0};
      Tile t;
      t.taps = taps;
      t.blocks = kChannels / lanes;
      t.block_stride = static_cast<ptrdiff_t>(rows * lanes);
      t.w = base;
      t.x[0] = base + 2 * kChannels * lanes;
      t.x[1] = t.x[0] + (rows + 1) / 2 * lanes;
      t.y[0] = base + 2 * kChannels * lanes + kChannels * rows;
      t.y[1] = t.y[0] + (rows + 1) / 2 * lanes;
      t.pixel_stride = static_cast<ptrdiff_t>(lanes);
      t.vector_stride = static_cast<ptrdiff_t>(rows * lanes);
      for (int i = 0; i < repeats; ++i) tile.packed[2][rows](t);
    };
    const double operations =
        2.0 * kChannels * static_cast<double>(rows) * 2.0 * static_cast<double>(lanes) * 500 * static_cast<double>(threads);
    double best = 0;
    using Clock = std::chrono::steady_clock;
    for (const Clock::time_point start = Clock::now(); Clock::now() - start < std::chrono::milliseconds(50);) {
      const Clock::time_point begin = Clock::now();
      ThreadPool::process().run(threads, device_.threads, [&](size_t thread) { work(thread, 500); });
      best = std::max(best, operations / std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return best;
  }

 private:
  CpuDevice device_;
  std::vector<Scheme> schemes_;
};

}  // namespace

std::shared_ptr<Backend> make_cpu_backend(const BackendOptions& options) { return std::make_shared<CpuBackend>(options); }

}  // namespace minnow

// SPDX-License-Identifier: Apache-2.0
// Pools of floats with up to three spatial dimensions: one item for each result.
#include "backends/gpu/schemes/schemes.h"
#include "backends/gpu/schemes/window3.h"

namespace minnow::gpu {
namespace {

constexpr Attribute<bool> kCountIncludePad{"count_include_pad", false};

Estimate estimate(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_reals(node); !reason.empty()) return declined("{}", reason);
  const size_t rank = node.input_shape(0).rank();
  if (rank < 3 || rank > 5) return declined("there are {} spatial dimensions", static_cast<int64_t>(rank) - 2);
  if (node.attribute(Attribute<int64_t>{"storage_order", 0}) != 0) return declined("places are counted by columns");
  if (node.input_shape(0).elements() == 0) return declined("the input is empty");
  return estimate_of(node, device, 0);
}

// Padding counts up to pad_end; windows that ceil_mode lets reach beyond do not count what is there.
constexpr std::string_view kSource = R"(
KERNEL(pool)(READ(MEM(T), x), WRITE(MEM(T), y), PLACES_PARAMETER const int n, const int ED, const int EH, const int EW, WINDOW_PARAMETERS) {
  USE_READ(MEM(T), x);
  USE_WRITE(MEM(T), y);
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int px = i % OW, py = i / OW % OH, pz = i / (OW * OH) % OD, plane = i / (OW * OH * OD);
  float result = MAX_POOL ? -AS_F32(0x7f800000u) : 0;
  int count = 0, best = -1;
  for (int kz = 0; kz < KD; ++kz) for (int ky = 0; ky < KH; ++ky) for (int kx = 0; kx < KW; ++kx) {
    const int z = pz * SD - PD + kz * DD, yy = py * SH - PH + ky * DH, xx = px * SW - PW + kx * DW;
    if (z < ED && yy < EH && xx < EW) ++count;
    if ((unsigned)z >= (unsigned)ID || (unsigned)yy >= (unsigned)IH || (unsigned)xx >= (unsigned)IW) {
      if (!COUNT_PAD && z < ED && yy < EH && xx < EW) --count;
      continue;
    }
    const int at = ((plane * ID + z) * IH + yy) * IW + xx;
    const float v = LOAD(T, x, at);
    if (!MAX_POOL) result += POWER(v);
    else if (best < 0 || v > result || (v != v && result == result)) { result = v; best = at; }
  }
  STORE(T, y, i, MAX_POOL ? result : RESULT);
  PUT_PLACE
}
)";

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  const NodeView& node = context.node();
  const PoolGeometry pool = PoolGeometry::of(node);
  const Window3 window(pool.window);
  const bool most = node.op() == "MaxPool", counts = !most && node.attribute(kCountIncludePad);
  const bool wants_places = most && node.output_count() > 1 && node.has_output(1), by_norm = node.op().ends_with("LpPool");
  const int64_t p = node.attribute(Attribute<int64_t>{"p", 2});
  std::vector<Given> given = {Given::input(0), Given::output(0)};
  if (wants_places) given.push_back(Given::output(1));
  given.emplace_back(node.output_shape(0).elements());
  for (size_t i = 0; i < 3; ++i) given.emplace_back(window.input[i] + window.pad_end[i]);
  window.append(given);
  std::string source = format("#define PLACES_PARAMETER {}\n#define PUT_PLACE {}\n", wants_places ? "WRITE(i64, places)," : "",
                              wants_places ? "USE_WRITE(i64, places); places[i] = best;" : "");
  if (!by_norm)
    source += "#define POWER(v) v\n#define RESULT result / (float)count\n";
  else if (p == 2)
    source += "#define POWER(v) v * v\n#define RESULT sqrt(result)\n";
  else
    source += format("#define POWER(v) pow(fabs(v), {}.0f)\n#define RESULT pow(result, 1.0f / {}.0f)\n", p, p);
  source += format("#define T {}\n#define MAX_POOL {}\n#define COUNT_PAD {}\n#define WINDOW_PARAMETERS {}\n{}{}",
                   dialect_name(node.input_dtype(0)), most ? 1 : 0, counts ? 1 : 0, Window3::kParameters, window.definitions(), kSource);
  auto kernel = std::make_unique<Launches>(context);
  kernel->add_1d(source, "pool", node.output_shape(0).elements(), std::move(given));
  return kernel;
}

constexpr Scheme kSchemes[] = {{"MaxPool", "gpu.pool", estimate, prepare},
                               {"AveragePool", "gpu.pool", estimate, prepare},
                               {"GlobalLpPool", "gpu.pool", estimate, prepare},
                               {"LpPool", "gpu.pool", estimate, prepare}};

}  // namespace

std::span<const Scheme> pool_schemes() { return kSchemes; }

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
// The packed layout: changes of layout, and operators that keep it. One item for each chunk of 8 lanes.
#include "backends/gpu/schemes/packed.h"

#include <algorithm>

#include "backends/gpu/schemes/window3.h"

namespace minnow::gpu {

std::string chunk_definitions(std::string_view type) {
  if (type == "tf32")
    return R"(
#define TF32 1
struct __align__(16) Chunk { float4 first, second; };
#define CHUNK Chunk
// TF32 has 10 bits of fraction; tensor cores ignore the others.
INLINE float to_tf32(float x) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}
INLINE void load_chunk(float* lanes, const Chunk* from) {
  const float4 a = from->first, b = from->second;
  lanes[0] = a.x, lanes[1] = a.y, lanes[2] = a.z, lanes[3] = a.w;
  lanes[4] = b.x, lanes[5] = b.y, lanes[6] = b.z, lanes[7] = b.w;
}
INLINE void store_chunk(Chunk* to, const float* lanes) {
  to->first = make_float4(to_tf32(lanes[0]), to_tf32(lanes[1]), to_tf32(lanes[2]), to_tf32(lanes[3]));
  to->second = make_float4(to_tf32(lanes[4]), to_tf32(lanes[5]), to_tf32(lanes[6]), to_tf32(lanes[7]));
}
)";
  if (packed_size(type) == 1)
    return format("#define BYTE {}\n", type) + R"(
#define TF32 0
#define CHUNK uint2
// Bytes less `zero`, a whole number: a byte is the lower end of a float of 2^23, which conversions of integers would take four times as long
// to make.
INLINE void load_chunk(float* lanes, const uint2* from, const float zero = 0.0f) {
  const uint2 chunk = *from;
  const u32 flip = (BYTE)-1 < 0 ? 0x80808080u : 0u, first = chunk.x ^ flip, second = chunk.y ^ flip;
  const float less = ((BYTE)-1 < 0 ? 8388736.0f : 8388608.0f) + zero;
  UNROLL for (int i = 0; i < 8; ++i) lanes[i] = AS_F32(__byte_perm(i < 4 ? first : second, 0x4b000000u, 0x7440 + i % 4)) - less;
}
INLINE u32 lowest_bytes(const u32 a, const u32 b, const u32 c, const u32 d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}
// Lanes are whole numbers.
INLINE void store_chunk(uint2* to, const float* lanes) {
  u32 bits[8];
  UNROLL for (int i = 0; i < 8; ++i) bits[i] = AS_U32(lanes[i] + 12582912.0f);
  *to = make_uint2(lowest_bytes(bits[0], bits[1], bits[2], bits[3]), lowest_bytes(bits[4], bits[5], bits[6], bits[7]));
}
)";
  return format("#define T16 {}\n", type) + R"(
#define TF32 0
#define CHUNK uint4
#define TO_F32(x) CAT(T16, _to_f32)(x)
#define FROM_F32(x) CAT(f32_to_, T16)(x)
INLINE void load_chunk(float* lanes, const uint4* from) {
  const uint4 chunk = *from;
  const u32 words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
  UNROLL for (int i = 0; i < 4; ++i) lanes[2 * i] = TO_F32((u16)words[i]), lanes[2 * i + 1] = TO_F32((u16)(words[i] >> 16));
}
INLINE void store_chunk(uint4* to, const float* lanes) {
  u32 words[4];
  UNROLL for (int i = 0; i < 4; ++i) words[i] = (u32)FROM_F32(lanes[2 * i]) | (u32)FROM_F32(lanes[2 * i + 1]) << 16;
  *to = make_uint4(words[0], words[1], words[2], words[3]);
}
)";
}

std::string_view packed_name(const NodeView& node, const Device& device) {
  const DType dtype = node.input_dtype(0);
  if (device.pack != kPack) return {};
  if (dtype == DType::f32) return device.packed_f32 == DType::f16 ? "f16" : device.precision == Precision::tf32 ? "tf32" : "";
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::u8 || dtype == DType::i8 ? dialect_name(dtype) : "";
}

std::string refusal_of_packed_input(const NodeView& node, const Device& device) {
  if (device.pack != kPack) return "the device has no packed layout";
  if (std::string reason = refusal(node); !reason.empty()) return reason;
  if (packed_name(node, device).empty()) return "the precision allows neither 16 bits nor TF32";
  if (node.is_constant(0)) return "the input is constant";
  if (node.input_shape(0).rank() < 3) return "there are no spatial dimensions";
  if (node.input_shape(0).elements() == 0) return "the input is empty";
  if (node.output(0).dtype != node.input_dtype(0)) return "the dtype changes";
  return {};
}

std::string refusal_to_pack(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_packed_input(node, device); !reason.empty()) return reason;
  return node.output_shape(0).rank() < 3 ? "the result has no spatial dimensions" : "";
}

namespace {

constexpr uint64_t kFirst = 1;

Estimate packed_estimate(const NodeView& node, const Device& device, uint64_t inputs = kFirst, uint64_t outputs = kFirst) {
  Estimate estimate(packed_seconds(node, device, estimate_of(node, device).seconds));
  estimate.packed_inputs = inputs, estimate.packed_outputs = outputs;
  return estimate;
}

std::string beginning(const NodeView& node, const Device& device) {
  return format("#define T {}\n{}", dialect_name(node.input_dtype(0)), chunk_definitions(packed_name(node, device)));
}

// ---- Reorder

bool to_packed(const NodeView& node) { return node.require<std::string>("to") == "packed"; }

Estimate estimate_reorder(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_pack(node, device); !reason.empty()) return declined("{}", reason);
  return packed_estimate(node, device, to_packed(node) ? 0 : kFirst, to_packed(node) ? kFirst : 0);
}

constexpr std::string_view kReorderSource = R"(
KERNEL(to_packed)(READ(MEM(T), x), WRITE(CHUNK, y), const int n, const int C, const int CB, const int P) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int position = i % P, chunk = i / P % CB, b = i / P / CB;
  float lanes[8];
  UNROLL for (int e = 0; e < 8; ++e) lanes[e] = chunk * 8 + e < C ? LOAD(T, x, (b * C + chunk * 8 + e) * P + position) : 0.0f;
  store_chunk(y + i, lanes);
}
KERNEL(to_plain)(READ(CHUNK, x), WRITE(MEM(T), y), const int n, const int C, const int CB, const int P) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int position = i % P, chunk = i / P % CB, b = i / P / CB;
  float lanes[8];
  load_chunk(lanes, x + i);
  UNROLL for (int e = 0; e < 8; ++e)
    if (chunk * 8 + e < C) STORE(T, y, (b * C + chunk * 8 + e) * P + position, lanes[e]);
}
)";

// The same for tensors of the packed type whose images have an even number of positions: an item treats two of them. Two neighbouring items
// exchange a chunk, so that both write (or read) 32 bytes together.
constexpr std::string_view kReorderPairs = R"(
INLINE void exchange(uint4& first, uint4& second, bool odd) {
  const uint4 mine = odd ? first : second;
  const uint4 got = make_uint4(__shfl_xor_sync(0xffffffffu, mine.x, 1), __shfl_xor_sync(0xffffffffu, mine.y, 1),
                               __shfl_xor_sync(0xffffffffu, mine.z, 1), __shfl_xor_sync(0xffffffffu, mine.w, 1));
  if (odd) first = got; else second = got;
}
#define LOW(a, b) __byte_perm(a, b, 0x5410)
#define HIGH(a, b) __byte_perm(a, b, 0x7632)
#define PLACES                                                                                                    \
  const int i = GROUP(0) * ITEMS(0) + ITEM(0), position = i % P, plane = i / P, chunk = plane % CB, b = plane / CB; \
  const int at = i / 2 * 4 + i % 2, row = (b * C + chunk * 8) * P + position
KERNEL(to_packed)(READ(u32, x), WRITE(uint4, y), const int n, const int C, const int CB, const int P) {
  PLACES;
  u32 w[8];
  UNROLL for (int e = 0; e < 8; ++e) w[e] = i < n && chunk * 8 + e < C ? x[row + e * P] : 0;
  uint4 first = make_uint4(LOW(w[0], w[1]), LOW(w[2], w[3]), LOW(w[4], w[5]), LOW(w[6], w[7]));
  uint4 second = make_uint4(HIGH(w[0], w[1]), HIGH(w[2], w[3]), HIGH(w[4], w[5]), HIGH(w[6], w[7]));
  exchange(first, second, i & 1);
  if (at < 2 * n) y[at] = first;
  if (at + 2 < 2 * n) y[at + 2] = second;
}
KERNEL(to_plain)(READ(uint4, x), WRITE(u32, y), const int n, const int C, const int CB, const int P) {
  PLACES;
  uint4 first = make_uint4(0, 0, 0, 0), second = first;
  if (at < 2 * n) first = x[at];
  if (at + 2 < 2 * n) second = x[at + 2];
  exchange(first, second, i & 1);
  const u32 w[8] = {LOW(first.x, second.x), HIGH(first.x, second.x), LOW(first.y, second.y), HIGH(first.y, second.y),
                    LOW(first.z, second.z), HIGH(first.z, second.z), LOW(first.w, second.w), HIGH(first.w, second.w)};
  UNROLL for (int e = 0; e < 8; ++e)
    if (i < n && chunk * 8 + e < C) y[row + e * P] = w[e];
}
)";

std::unique_ptr<Kernel> prepare_reorder(PrepareContext& context) {
  const NodeView& node = context.node();
  const Packed packed(node.input_shape(0));
  auto kernel = std::make_unique<Launches>(context);
  const std::string_view type = packed_name(node, context.device());
  if (dialect_name(node.input_dtype(0)) == type && packed_size(type) == 2 && packed.positions % 2 == 0) {
    const int64_t pairs = packed.count() / 2;
    kernel->add_1d(std::string(kReorderPairs), to_packed(node) ? "to_packed" : "to_plain", pairs,
                   {Given::input(0), Given::output(0), pairs, packed.channels, packed.chunks, packed.positions / 2});
    return kernel;
  }
  kernel->add_1d(beginning(node, context.device()) + std::string(kReorderSource), to_packed(node) ? "to_packed" : "to_plain",
                 packed.count(), {Given::input(0), Given::output(0), packed.count(), packed.channels, packed.chunks, packed.positions});
  return kernel;
}

// ---- Concat along the channels

Estimate estimate_concat(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_pack(node, device); !reason.empty()) return declined("{}", reason);
  const size_t rank = node.output_shape(0).rank();
  if (node.normalize_axis(node.require<int64_t>("axis"), rank) != 1) return declined("the axis is not that of the channels");
  if (node.input_count() >= 64) return declined("there are too many inputs");
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.is_constant(i)) return declined("input {} is constant", i);
    if (i + 1 < node.input_count() && node.input_shape(i)[1] % kPack) return declined("the channels of input {} do not fill chunks", i);
  }
  Estimate estimate = packed_estimate(node, device, (uint64_t{1} << node.input_count()) - 1);
  estimate.joins = node.output_shape(0)[0] == 1;
  return estimate;
}

constexpr std::string_view kPlaceSource = R"(
KERNEL(place)(UPDATE(CHUNK, x), WRITE(CHUNK, y), const int n, const int part, const int whole, const int to) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i < n) y[i / part * whole + to + i % part] = x[i];
}
)";

std::unique_ptr<Kernel> prepare_concat(PrepareContext& context) {
  const NodeView& node = context.node();
  const Packed whole(node.output_shape(0));
  const std::string_view type = packed_name(node, context.device());
  auto kernel = std::make_unique<Launches>(context);
  int64_t at = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Packed part(node.input_shape(i));
    if (part.count() == 0) continue;
    const int64_t step = part.chunks * part.positions;
    kernel->add_1d(chunk_definitions(type) + std::string(kPlaceSource), "place", part.count(),
                   {Given::input(i), Given::output(0), part.count(), step, whole.chunks * whole.positions, at});
    if (whole.batch == 1) kernel->skip_if_same(i, 0, 0, static_cast<size_t>(at * kPack) * packed_size(type));
    at += step;
  }
  return kernel;
}

// ---- Pools

Estimate estimate_pool(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_to_pack(node, device); !reason.empty()) return declined("{}", reason);
  if (node.input_shape(0).rank() > 5) return declined("there are more than 3 spatial dimensions");
  if (node.output_count() > 1 && node.has_output(1)) return declined("the places of the largest elements are wanted");
  return packed_estimate(node, device);
}

constexpr std::string_view kPoolSource = R"(
KERNEL(pool)(READ(CHUNK, x), WRITE(CHUNK, y), const int n, const int ED, const int EH, const int EW, WINDOW_PARAMETERS) {
  const int i = GROUP(0) * ITEMS(0) + ITEM(0);
  if (i >= n) return;
  const int px = i % OW, py = i / OW % OH, pz = i / (OW * OH) % OD, plane = i / (OW * OH * OD);
  float result[8];
  UNROLL for (int e = 0; e < 8; ++e) result[e] = MAX_POOL ? -AS_F32(0x7f800000u) : 0.0f;
  int count = 0;
  for (int kz = 0; kz < KD; ++kz) for (int ky = 0; ky < KH; ++ky) for (int kx = 0; kx < KW; ++kx) {
    const int z = pz * SD - PD + kz * DD, yy = py * SH - PH + ky * DH, xx = px * SW - PW + kx * DW;
    const bool inside = (unsigned)z < (unsigned)ID && (unsigned)yy < (unsigned)IH && (unsigned)xx < (unsigned)IW;
    if (inside || (COUNT_PAD && z < ED && yy < EH && xx < EW)) ++count;
    if (!inside) continue;
    float v[8];
    load_chunk(v, x + ((plane * ID + z) * IH + yy) * IW + xx);
    UNROLL for (int e = 0; e < 8; ++e) if (MAX_POOL) result[e] = v[e] != v[e] || v[e] > result[e] ? v[e] : result[e]; else result[e] += v[e];
  }
  if (!MAX_POOL) UNROLL for (int e = 0; e < 8; ++e) result[e] /= (float)count;
  store_chunk(y + i, result);
}
)";

std::unique_ptr<Kernel> prepare_pool(PrepareContext& context) {
  const NodeView& node = context.node();
  const PoolGeometry pool = PoolGeometry::of(node);
  const Window3 window(pool.window);
  const bool most = node.op() == "MaxPool", counts = !most && node.attribute(Attribute<bool>{"count_include_pad", false});
  const int64_t count = Packed(node.output_shape(0)).count();
  std::vector<Given> given = {Given::input(0), Given::output(0), count};
  for (size_t i = 0; i < 3; ++i) given.emplace_back(window.input[i] + window.pad_end[i]);
  window.append(given);
  const std::string source =
      beginning(node, context.device()) + format("#define MAX_POOL {}\n#define COUNT_PAD {}\n#define WINDOW_PARAMETERS {}\n{}{}",
                                                 most ? 1 : 0, counts ? 1 : 0, Window3::kParameters, window.definitions(), kPoolSource);
  auto kernel = std::make_unique<Launches>(context);
  kernel->add_1d(source, "pool", count, std::move(given));
  return kernel;
}

// The mean of all positions: a warp for each chunk. The result is packed or plain.
template <bool kPackedResult>
Estimate estimate_mean(const NodeView& node, const Device& device) {
  if (std::string reason = refusal_of_packed_input(node, device); !reason.empty()) return declined("{}", reason);
  if (node.op() == "ReduceMean") {
    const size_t rank = node.input_shape(0).rank();
    if (!node.has_input(1) || !node.is_constant(1)) return declined("the axes are not constant");
    Ints axes = node.ints(1);
    for (int64_t& axis : axes) axis = static_cast<int64_t>(node.normalize_axis(axis, rank));
    std::sort(axes.begin(), axes.end());
    bool spatial = axes.size() + 2 == rank;
    for (size_t i = 0; spatial && i < axes.size(); ++i) spatial = axes[i] == static_cast<int64_t>(i) + 2;
    if (!spatial) return declined("the axes are not the spatial ones");
  }
  return packed_estimate(node, device, kFirst, kPackedResult ? kFirst : 0);
}

constexpr std::string_view kMeanSource = R"(
KERNEL(mean)(READ(CHUNK, x), WRITE(RESULT, y), const int P, const int C, const int CB) {
  const int chunk = GROUP(0);
  float sums[8];
  UNROLL for (int e = 0; e < 8; ++e) sums[e] = 0;
  for (int p = ITEM(0); p < P; p += 32) {
    float v[8];
    load_chunk(v, x + chunk * P + p);
    UNROLL for (int e = 0; e < 8; ++e) sums[e] += v[e];
  }
  UNROLL for (int e = 0; e < 8; ++e) {
    UNROLL for (int step = 16; step > 0; step /= 2) sums[e] += __shfl_xor_sync(0xffffffffu, sums[e], step);
    sums[e] /= (float)P;
  }
  if (ITEM(0) != 0) return;
#if PACKED_RESULT
  store_chunk(y + chunk, sums);
#else
  const int b = chunk / CB, first = chunk % CB * 8;
  UNROLL for (int e = 0; e < 8; ++e)
    if (first + e < C) STORE(T, y, b * C + first + e, sums[e]);
#endif
}
)";

std::unique_ptr<Kernel> prepare_mean(PrepareContext& context) {
  const NodeView& node = context.node();
  const Packed packed(node.input_shape(0));
  const bool packed_result = context.output_layout(0) == Layout::packed;
  auto kernel = std::make_unique<Launches>(context);
  kernel->add(beginning(node, context.device()) + format("#define PACKED_RESULT {}\n#define RESULT {}\n{}", packed_result ? 1 : 0,
                                                         packed_result ? "CHUNK" : "MEM(T)", kMeanSource),
              "mean", {static_cast<uint32_t>(packed.batch * packed.chunks), 1, 1}, {32, 1, 1},
              {Given::input(0), Given::output(0), packed.positions, packed.channels, packed.chunks});
  return kernel;
}

constexpr Scheme kSchemes[] = {{kReorder, "gpu.reorder", estimate_reorder, prepare_reorder},
                               {"Concat", "gpu.concat.packed", estimate_concat, prepare_concat},
                               {"MaxPool", "gpu.pool.packed", estimate_pool, prepare_pool},
                               {"AveragePool", "gpu.pool.packed", estimate_pool, prepare_pool},
                               {"GlobalAveragePool", "gpu.mean.packed", estimate_mean<true>, prepare_mean},
                               {"GlobalAveragePool", "gpu.mean.plain", estimate_mean<false>, prepare_mean},
                               {"ReduceMean", "gpu.mean.plain", estimate_mean<false>, prepare_mean}};

}  // namespace

std::span<const Scheme> packed_schemes() { return kSchemes; }

}  // namespace minnow::gpu

// SPDX-License-Identifier: Apache-2.0
// Lossless coding of weights by the frequencies of their bytes: asymmetric numeral systems with ranges (rANS; Duda, "Asymmetric numeral
// systems", arXiv:1311.2540), in 32 interleaved streams that a vector decodes side by side (Giesen, "Interleaved entropy coders",
// arXiv:1402.3392).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace minnow {

/// Codes elements of `width` bytes (1, 2, 4 or 8), whose first, second ... bytes have frequencies of their own. The same bytes always give
/// the same code. Empty if that saves less than a twentieth.
std::vector<std::byte> entropy_coded(std::span<const std::byte> plain, size_t width);

/// A code, checked as far as its sizes go. It is decoded in independent parts, by as many threads as there are. A code of n bytes stands
/// for fewer than 1200 n, so that a file cannot ask for more memory than is in proportion to its size.
class EntropyCode {
 public:
  /// `coded` must outlive it. Null if the sizes contradict each other or do not give `plain_bytes` bytes.
  static std::unique_ptr<EntropyCode> open(std::span<const std::byte> coded, uint64_t plain_bytes);

  size_t parts() const noexcept { return parts_.size(); }
  std::span<const std::byte> coded() const noexcept { return coded_; }
  size_t plain_bytes() const noexcept { return plain_bytes_; }
  /// Writes the bytes of a part into `plain`, which begins with byte 0 of all. False if the code is damaged; then that part of `plain`
  /// holds anything. `to` differs from part to part.
  bool decode(size_t part, std::byte* plain) const noexcept;
  /// All parts, on all cores if there are many. False if the code is damaged.
  bool decode(std::byte* plain) const;

 private:
  // [slot]: the byte, its frequency less 1, and the slot's place among those of the byte; 8, 12 and 12 bits from the lowest on.
  using Table = std::array<uint32_t, 4096>;
  struct Part {
    size_t plane, first, count;  // symbols of a plane
    std::span<const std::byte> code;
  };
  std::span<const std::byte> coded_;
  size_t plain_bytes_ = 0, width_ = 1;
  std::vector<std::unique_ptr<Table>> tables_;  // of planes; null where the bytes are stored as they are
  std::vector<Part> parts_;
};

}  // namespace minnow

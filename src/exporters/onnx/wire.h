// SPDX-License-Identifier: Apache-2.0
// Protocol buffers' wire format, written: a message as a list of pieces, so that the bytes of weights are never copied.
#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minnow::onnx {

class MessageWriter {
 public:
  void integer(uint32_t field, int64_t value) {
    tag(field, 0);
    varint(static_cast<uint64_t>(value));
  }
  void real(uint32_t field, float value) {
    tag(field, 5);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);  // the format is little-endian, as every machine that Minnow is built for
    append({bytes, sizeof value});
  }
  void text(uint32_t field, std::string_view bytes) {
    tag(field, 2);
    varint(bytes.size());
    append(bytes);
  }
  /// The same for bytes that outlive this object.
  void borrowed(uint32_t field, std::span<const std::byte> bytes) {
    tag(field, 2);
    varint(bytes.size());
    pieces_.push_back({{}, bytes});
    size_ += bytes.size();
  }
  void message(uint32_t field, MessageWriter&& inner) {
    tag(field, 2);
    varint(inner.size_);
    if (!inner.pieces_.empty()) {
      append(inner.pieces_.front().own);
      size_ += inner.size_ - inner.pieces_.front().own.size();
      if (!inner.pieces_.front().borrowed.empty()) pieces_.push_back({{}, inner.pieces_.front().borrowed});
      for (size_t i = 1; i < inner.pieces_.size(); ++i) pieces_.push_back(std::move(inner.pieces_[i]));
    }
    inner = {};
  }

  uint64_t size() const noexcept { return size_; }
  template <class Sink>
  void write(Sink&& sink) const {
    for (const Piece& piece : pieces_) {
      if (!piece.own.empty()) sink(std::as_bytes(std::span(piece.own.data(), piece.own.size())));
      if (!piece.borrowed.empty()) sink(piece.borrowed);
    }
  }

 private:
  /// Bytes of its own, and behind them some of somebody else's.
  struct Piece {
    std::string own;
    std::span<const std::byte> borrowed;
  };
  void tag(uint32_t field, uint32_t type) { varint(uint64_t{field} << 3 | type); }
  void varint(uint64_t value) {
    char bytes[10];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<char>(value | 0x80);
    bytes[count++] = static_cast<char>(value);
    append({bytes, count});
  }
  void append(std::string_view bytes) {
    if (pieces_.empty() || !pieces_.back().borrowed.empty()) pieces_.emplace_back();
    pieces_.back().own.append(bytes);
    size_ += bytes.size();
  }
  std::deque<Piece> pieces_;
  uint64_t size_ = 0;
};

}  // namespace minnow::onnx

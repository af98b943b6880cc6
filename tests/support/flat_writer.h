// SPDX-License-Identifier: Apache-2.0
// FlatBuffers written for tests, from the leaves to the root: every piece is placed behind the ones before it and offsets are patched, so
// that wrong files can be made too.
#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace minnow::test {

class FlatWriter {
 public:
  /// Fields of a table by their numbers.
  class Table {
   public:
    template <class T>
    Table& number(size_t field, T value) {
      std::string bytes(sizeof(T), '\0');
      std::memcpy(bytes.data(), &value, sizeof(T));
      fields_[field] = {std::move(bytes), 0};
      return *this;
    }
    Table& offset(size_t field, size_t target) {
      fields_[field] = {std::string(4, '\0'), target};
      return *this;
    }

   private:
    friend class FlatWriter;
    struct Field {
      std::string bytes;
      size_t target = 0;
    };
    std::map<size_t, Field> fields_;
  };

  /// A place of a table, a vector or a text; 0 is none of them.
  size_t table(const Table& table) {
    pieces_.push_back({Piece::Kind::table, table, {}, {}});
    return pieces_.size();
  }
  template <class T>
  size_t numbers(const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return vector(values.size(), bytes);
  }
  size_t text(const std::string& text) { return vector(text.size(), text + '\0'); }
  size_t offsets(const std::vector<size_t>& targets) {
    pieces_.push_back({Piece::Kind::offsets, {}, {}, targets});
    return pieces_.size();
  }

  /// The file; offsets lead forward, so the root is written first.
  std::string finish(size_t root) {
    std::string out(8, '\0');
    std::vector<size_t> places(pieces_.size() + 1);
    std::vector<std::pair<size_t, size_t>> patches = {{0, root}};  // where an offset stands, to which piece
    for (size_t i = pieces_.size(); i > 0; --i) {
      const Piece& piece = pieces_[i - 1];
      while (out.size() % 8) out += '\0';
      if (piece.kind == Piece::Kind::table) {
        const size_t count = piece.table.fields_.empty() ? 0 : piece.table.fields_.rbegin()->first + 1;
        std::vector<uint16_t> vtable(2 + count);
        std::string body(4, '\0');
        std::vector<std::pair<size_t, size_t>> inner;
        for (const auto& [number, field] : piece.table.fields_) {
          while (body.size() % field.bytes.size()) body += '\0';
          vtable[2 + number] = static_cast<uint16_t>(body.size());
          if (field.target) inner.emplace_back(body.size(), field.target);
          body += field.bytes;
        }
        vtable[0] = static_cast<uint16_t>(vtable.size() * 2);
        vtable[1] = static_cast<uint16_t>(body.size());
        const size_t start = out.size();
        out.append(reinterpret_cast<const char*>(vtable.data()), vtable.size() * 2);
        while (out.size() % 8) out += '\0';
        places[i] = out.size();
        const int32_t back = static_cast<int32_t>(out.size() - start);
        std::memcpy(body.data(), &back, 4);
        for (const auto& [at, target] : inner) patches.emplace_back(out.size() + at, target);
        out += body;
      } else {
        places[i] = out.size();
        const uint32_t size = piece.kind == Piece::Kind::bytes ? piece.count : static_cast<uint32_t>(piece.targets.size());
        out.append(reinterpret_cast<const char*>(&size), 4);
        for (size_t target : piece.targets) {
          patches.emplace_back(out.size(), target);
          out.append(4, '\0');
        }
        out += piece.bytes;
      }
    }
    for (const auto& [at, target] : patches) {
      const uint32_t distance = static_cast<uint32_t>(places[target] - at);
      std::memcpy(out.data() + at, &distance, 4);
    }
    return out;
  }

 private:
  struct Piece {
    enum class Kind { table, bytes, offsets } kind;
    Table table;
    std::string bytes;
    std::vector<size_t> targets;
    uint32_t count = 0;
  };
  size_t vector(size_t count, std::string bytes) {
    pieces_.push_back({Piece::Kind::bytes, {}, std::move(bytes), {}, static_cast<uint32_t>(count)});
    return pieces_.size();
  }
  std::vector<Piece> pieces_;
};

}  // namespace minnow::test

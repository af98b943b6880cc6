// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/stored_shader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/gpu/dialect.h"
#include "backends/gpu/programs.h"
#include "backends/gpu/shaders/library.h"
#include "base/format.h"

namespace minnow::gpu {
namespace {

// Raise it when the translation of a kernel changes: files have shaders of earlier ones.
constexpr int kTranslation = 1;

void add_word(std::string& bytes, size_t value) {
  const auto word = static_cast<uint32_t>(value);
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

std::string ShaderSource::to_source() const {
  return format("{} {} {} {} {}\n{}", function, group[0], group[1], group[2], group_offsets ? 1 : 0, text);
}

ShaderSource ShaderSource::of(const std::string& source) {
  ShaderSource made;
  const size_t space = source.find(' '), line = source.find('\n');
  made.function = source.substr(0, space);
  char* at = const_cast<char*>(source.c_str()) + space;
  for (uint32_t& items : made.group) items = static_cast<uint32_t>(std::strtoul(at, &at, 10));
  made.group_offsets = std::strtoul(at, &at, 10) != 0;
  made.text = source.substr(line + 1);
  return made;
}

std::string shader_revision() {
  return format("translation {}, prefix {}", kTranslation, digest_text(library_text() + std::string(kCommonPrefix)));
}

uint32_t StoredShader::buffers() const {
  return static_cast<uint32_t>(std::count(interface.parameters.begin(), interface.parameters.end(), Argument::Kind::buffer));
}

std::string StoredShader::to_bytes() const {
  std::string bytes;
  add_word(bytes, interface.parameters.size());
  add_word(bytes, (pushes ? 1 : 0) | (offsets ? 2 : 0));
  add_word(bytes, code.size());
  for (size_t i = 0; i < interface.parameters.size(); ++i)
    add_word(bytes, static_cast<size_t>(interface.parameters[i]) | (interface.writes[i] ? 256 : 0) | interface.element_bytes[i] << 16);
  return bytes + code + data;
}

bool StoredShader::read(std::span<const std::byte> bytes) {
  uint32_t head[3];
  if (bytes.size() < sizeof head) return false;
  std::memcpy(head, bytes.data(), sizeof head);
  const auto [parameters, flags, code_bytes] = head;
  if (parameters > kMostArguments || bytes.size() - sizeof head < parameters * sizeof(uint32_t) ||
      bytes.size() - sizeof head - parameters * sizeof(uint32_t) < code_bytes)
    return false;
  pushes = (flags & 1) != 0, offsets = (flags & 2) != 0;
  interface = {};
  for (uint32_t i = 0; i < parameters; ++i) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + sizeof head + i * sizeof word, sizeof word);
    interface.parameters.push_back(static_cast<Argument::Kind>(word & 255));
    interface.writes.push_back((word & 256) != 0);
    interface.element_bytes.push_back(word >> 16);
  }
  const std::string_view rest(reinterpret_cast<const char*>(bytes.data()) + sizeof head + parameters * sizeof(uint32_t),
                              bytes.size() - sizeof head - parameters * sizeof(uint32_t));
  code = rest.substr(0, code_bytes);
  data = rest.substr(code_bytes);
  return true;
}

}  // namespace minnow::gpu

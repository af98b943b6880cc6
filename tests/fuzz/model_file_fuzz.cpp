// SPDX-License-Identifier: Apache-2.0
// Reads bytes as a .minnow file; what can be read must come back the same when it is written and read again. Input that does not begin as
// such a file does is taken as its head and weights: two bytes tell how much is the head, and the header is made here.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/memory.h"
#include "graph/model_file.h"
#include "graph/model_header.h"

using namespace minnow;

namespace {

std::vector<std::byte> as_file(std::span<const std::byte> data) {
  if (is_model_file(data)) return {data.begin(), data.end()};
  if (data.size() < 2) return {};
  const size_t wanted = static_cast<size_t>(data[0]) | static_cast<size_t>(data[1]) << 8;
  data = data.subspan(2);
  const std::span<const std::byte> head = data.first(std::min(wanted, data.size())), weights = data.subspan(head.size());
  file::Header header;
  header.head_size = head.size();
  header.weights_offset = align_up(sizeof header + head.size());
  header.weights_size = weights.size();
  header.file_size = header.weights_offset + weights.size();
  std::vector<std::byte> made(header.file_size);
  std::memcpy(made.data(), &header, sizeof header);
  if (!head.empty()) std::memcpy(made.data() + sizeof header, head.data(), head.size());
  if (!weights.empty()) std::memcpy(made.data() + header.weights_offset, weights.data(), weights.size());
  return made;
}

std::string text_of(Graph& graph) {
  graph.source.clear();
  return to_text(graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::byte> bytes = as_file({reinterpret_cast<const std::byte*>(data), size});
  std::unique_ptr<Graph> graph;
  std::string text;
  try {
    graph = read_model(bytes, nullptr);
    text = text_of(*graph);
  } catch (const Error&) {
    return 0;
  }
  std::vector<std::byte> again;
  write_model_to(*graph, [&](std::span<const std::byte> piece) { again.insert(again.end(), piece.begin(), piece.end()); });
  if (text_of(*read_model(again, nullptr)) != text) {
    std::fputs("the graph changed when it was written and read again\n", stderr);
    std::abort();
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The trace-event format: "complete" events (ph X), times in microseconds.
#include <minnow/minnow.h>

#include <algorithm>

#include "base/format.h"
#include "base/no_memory.h"

namespace minnow {
namespace {

/// Bytes of the UTF-8 character (RFC 3629) at the beginning of `text`; 0 if it is invalid.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // The shortest form alone, no halves of pairs, nothing beyond U+10FFFF.
  const unsigned char next = byte(1);
  if ((lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f) || (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f))
    return 0;
  return length;
}

/// A JSON string; names may hold any bytes, and those that are no UTF-8 become "?".
std::string in_quotes(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      out += '?';
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (length == 1 && static_cast<unsigned char>(c) < 32) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out += '"';
}

}  // namespace

std::string chrome_trace(const PlanReport& report) try {
  std::string events;
  std::vector<std::string> devices;  // each has a track of its own, below the processor's
  std::vector<double> free_from{0};  // by depth: when the next node of a subgraph is drawn, behind the ones before it
  for (const PlanRow& row : report.rows) {
    const size_t depth = std::min(row.depth, free_from.size() - 1);
    const double start = depth == 0 ? row.start_seconds : free_from[depth];
    free_from.resize(depth + 1);
    free_from[depth] = start + row.measured_seconds;
    free_from.push_back(start);
    size_t track = 1;
    if (row.on_device) {
      const auto known = std::find(devices.begin(), devices.end(), row.backend);
      track = 2 + static_cast<size_t>(known - devices.begin());
      if (known == devices.end()) {
        devices.push_back(row.backend);
        events += format("{}\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":{}}}}}",
                         events.empty() ? "" : ",", track, in_quotes(row.backend));
      }
    }
    events += format(
        "{}\n{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":1,\"tid\":{},"
        "\"args\":{{\"scheme\":{},\"backend\":{},\"shape\":{},\"layout\":{},\"owner\":{},\"calls\":{}}}}}",
        events.empty() ? "" : ",", in_quotes(row.op + " " + row.node), in_quotes(row.op), start * 1e6, row.measured_seconds * 1e6, track,
        in_quotes(row.scheme), in_quotes(row.backend), in_quotes(row.shape), in_quotes(row.layout), in_quotes(row.owner), row.calls);
  }
  return "{\"traceEvents\":[" + events + "\n],\"displayTimeUnit\":\"ms\"}\n";
} catch (...) {
  throw_as_error();
}

}  // namespace minnow

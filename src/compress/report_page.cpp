// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file: numbers of the outputs, bars of each layer as SVG, a table.
#include <minnow/compress.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "base/no_memory.h"

namespace minnow::compress {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string number(double value, const char* pattern) {
  if (std::isinf(value)) return value > 0 ? "exact" : "-";
  char text[32];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

constexpr int kRow = 18, kLabels = 300, kBars = 420;

/// A horizontal bar for each layer that is quantized.
template <class F>
std::string plot(const QuantizeReport& report, const char* title, const char* unit, const char* pattern, const F& value_of) {
  double most = 0;
  int rows = 0;
  for (const LayerReport& layer : report.layers)
    if (layer.refusal.empty()) {
      ++rows;
      if (std::isfinite(value_of(layer))) most = std::max(most, value_of(layer));
    }
  std::string svg = format("<h2>{}</h2>\n<svg role=\"img\" aria-label=\"{}\" width=\"{}\" height=\"{}\">\n", title, title,
                           kLabels + kBars + 90, rows * kRow + 8);
  int y = 0;
  for (const LayerReport& layer : report.layers) {
    if (!layer.refusal.empty()) continue;
    const double value = value_of(layer);
    const double part = std::isfinite(value) && most > 0 ? std::max(value, 0.0) / most : value > 0 ? 1 : 0;
    const int length = static_cast<int>(std::lround(part * kBars));
    std::string name = layer.node.size() > 44 ? "..." + layer.node.substr(layer.node.size() - 41) : layer.node;
    svg += format(
        "<g><title>{}</title><text class=\"n\" x=\"{}\" y=\"{}\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\">{} {}</text></g>\n",
        escaped(layer.node), kLabels - 6, y + 13, escaped(name), kLabels, y + 2, length, kRow - 4, kLabels + length + 6, y + 13,
        number(value, pattern), unit);
    y += kRow;
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string report_page(const QuantizeReport& report, const std::string& title) try {
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Quantization of " + escaped(title) +
                     "</title>\n<style>body{font:14px sans-serif;margin:2em;color:#222}table{border-collapse:collapse}td,th{padding:2px "
                     "10px;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}svg "
                     "text{font:12px sans-serif}svg .n{text-anchor:end}rect{fill:#3b78b4}</style></head><body>\n<h1>Quantization of " +
                     escaped(title) + "</h1>\n";
  page += format(
      "<p>{} samples; weights {} bytes before, {} bytes after.</p>\n<table><tr><th>output</th><th>SQNR, dB</th><th>cosine</th>"
      "<th>same best class</th></tr>\n",
      report.samples, report.bytes_before, report.bytes_after);
  for (const OutputReport& output : report.outputs)
    page +=
        format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(output.name), number(output.fidelity.sqnr, "%.1f"),
               number(output.fidelity.cosine, "%.6f"), output.agreement < 0 ? std::string("-") : number(100 * output.agreement, "%.1f %%"));
  page += "</table>\n";
  if (report.evaluated)
    page += plot(report, "SQNR of each layer's output", "dB", "%.1f", [](const LayerReport& layer) { return layer.fidelity.sqnr; });
  else
    page += plot(report, "SQNR of each layer's weights", "dB", "%.1f", [](const LayerReport& layer) { return layer.weights.sqnr; });
  if (!report.weights_only)
    page += plot(report, "Clipped numbers", "%", "%.3f", [](const LayerReport& layer) { return 100 * layer.clipped; });
  if (std::any_of(report.layers.begin(), report.layers.end(), [](const LayerReport& layer) { return layer.seconds_after > 0; }))
    page += plot(report, "Time saved, estimated for this machine", "us", "%.1f",
                 [](const LayerReport& layer) { return 1e6 * (layer.seconds_before - layer.seconds_after); });
  page += plot(report, "Bytes saved", "", "%.0f",
               [](const LayerReport& layer) { return static_cast<double>(layer.bytes_before) - static_cast<double>(layer.bytes_after); });
  page +=
      "<h2>Layers</h2>\n<table><tr><th>layer</th><th>operator</th><th>SQNR, dB</th><th>cosine</th><th>weights, dB</th><th>lowest</th>"
      "<th>highest</th><th>clipped, %</th><th>multiply-adds</th><th>us before, estimated</th><th>us after</th><th>bytes "
      "before</th><th>bytes after</th></tr>\n";
  for (const LayerReport& layer : report.layers) {
    const auto known = [](double value, const char* pattern) { return value > 0 ? number(value, pattern) : std::string("-"); };
    const std::string cost = known(layer.operations / 2, "%.0f");
    page += format("<tr><td>{}</td><td>{}</td>", escaped(layer.node), escaped(layer.op));
    if (!layer.refusal.empty()) {
      page += format("<td colspan=\"6\">stays f32: {}</td><td>{}</td><td colspan=\"4\"></td></tr>\n", escaped(layer.refusal), cost);
      continue;
    }
    page += format(
        "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        number(layer.fidelity.sqnr, "%.1f"), number(layer.fidelity.cosine, "%.5f"), number(layer.weights.sqnr, "%.1f"),
        number(layer.low, "%.4g"), number(layer.high, "%.4g"), number(100 * layer.clipped, "%.3f"), cost,
        known(1e6 * layer.seconds_before, "%.1f"), known(1e6 * layer.seconds_after, "%.1f"), layer.bytes_before, layer.bytes_after);
  }
  return page + "</table></body></html>\n";
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress

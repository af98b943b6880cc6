// SPDX-License-Identifier: Apache-2.0
// CSV files: RFC 4180, with a line of names at the top.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "data/dataset.h"
#include "data/pictures.h"

namespace minnow::data {
namespace {

struct Row {
  int64_t line = 0;  // where it begins, from 1
  std::vector<std::string> cells;
};

std::vector<Row> rows_of(const std::string& path, std::string_view text, char delimiter) {
  std::vector<Row> rows;
  int64_t line = 1;
  for (size_t at = 0; at < text.size();) {
    Row row{line, {}};
    for (bool ended = false; !ended;) {
      std::string cell;
      if (at < text.size() && text[at] == '"') {
        for (++at;; ++at) {
          if (at == text.size()) throw InvalidArgument("{}: the text that line {} begins in quotes has no end", path, row.line);
          if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
          if (text[at] == '"') ++at;  // two quotes stand for one
          line += text[at] == '\n';
          cell += text[at];
        }
        ++at;
        if (at < text.size() && text[at] != delimiter && text[at] != '\n' && text[at] != '\r')
          throw InvalidArgument("{}: line {} has characters behind a text in quotes", path, line);
      } else {
        const size_t end = std::min(text.find_first_of(std::string{delimiter, '\n', '\r'}, at), text.size());
        cell = text.substr(at, end - at);
        at = end;
      }
      row.cells.push_back(std::move(cell));
      ended = at == text.size() || text[at] != delimiter;
      if (!ended) ++at;
    }
    if (at < text.size() && text[at] == '\r') ++at;
    if (at < text.size() && text[at] == '\n') ++at;
    ++line;
    if (row.cells.size() > 1 || !row.cells[0].empty()) rows.push_back(std::move(row));
  }
  return rows;
}

std::string trimmed(const std::string& cell) {
  const size_t begin = cell.find_first_not_of(" \t");
  return begin == cell.npos ? std::string() : cell.substr(begin, cell.find_last_not_of(" \t") - begin + 1);
}

/// Whether the cell is a finite number.
bool read_number(const std::string& cell, double& value) {
  const std::string text = trimmed(cell);
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

Tensor targets_of(const std::string& path, const std::string& name, const std::vector<Row>& rows, size_t column,
                  std::vector<std::string>& classes) {
  const int64_t count = static_cast<int64_t>(rows.size());
  std::vector<double> numbers(rows.size());
  bool are_numbers = classes.empty(), are_whole = true;
  for (size_t i = 0; i < rows.size() && are_numbers; ++i) {
    are_numbers = read_number(rows[i].cells[column], numbers[i]);
    are_whole = are_whole && numbers[i] == std::floor(numbers[i]) && std::abs(numbers[i]) < 0x1p53;
  }
  if (are_numbers && !are_whole) {
    Tensor made(DType::f32, {count});
    for (size_t i = 0; i < rows.size(); ++i) made.writable().data<float>()[i] = static_cast<float>(numbers[i]);
    return made;
  }
  Tensor made(DType::i64, {count});
  int64_t* to = made.writable().data<int64_t>();
  if (are_numbers) {
    for (size_t i = 0; i < rows.size(); ++i) to[i] = static_cast<int64_t>(numbers[i]);
    return made;
  }
  if (classes.empty()) {
    std::set<std::string> texts;
    for (const Row& row : rows) texts.insert(trimmed(row.cells[column]));
    classes.assign(texts.begin(), texts.end());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string text = trimmed(rows[i].cells[column]);
    const auto found = std::find(classes.begin(), classes.end(), text);
    if (text.empty()) throw InvalidArgument("{}: line {} has nothing in the column \"{}\"", path, rows[i].line, name);
    if (found == classes.end())
      throw InvalidArgument("{}: line {} has \"{}\" in the column \"{}\", which is no class{}", path, rows[i].line, text, name,
                            nearest(text, classes));
    to[i] = found - classes.begin();
  }
  return made;
}

}  // namespace

DatasetPtr csv(const std::string& path, const CsvOptions& options) try {
  const std::vector<std::byte> bytes = unpacked_file(path);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the mark of UTF-8
  std::vector<Row> rows = rows_of(path, text, options.delimiter);
  if (rows.size() < 2) throw InvalidArgument("{}: there are no rows below the line of names", path);
  std::vector<std::string> names;
  for (const std::string& cell : rows[0].cells) names.push_back(trimmed(cell));
  rows.erase(rows.begin());
  for (const Row& row : rows)
    if (row.cells.size() != names.size())
      throw InvalidArgument("{}: line {} has {} columns, the line of names {}", path, row.line, row.cells.size(), names.size());
  const auto column_of = [&](const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw InvalidArgument("{}: there is no column \"{}\"{}", path, name, nearest(name, names));
    return static_cast<size_t>(found - names.begin());
  };
  const size_t target = options.target.empty() ? names.size() - 1 : column_of(options.target);
  std::vector<std::string> classes = options.classes;
  const Tensor targets = targets_of(path, names[target], rows, target, classes);
  if (!options.image.empty()) {
    const size_t image = column_of(options.image), slash = path.find_last_of('/');
    std::vector<std::string> pictures;
    for (const Row& row : rows) {
      const std::string file = trimmed(row.cells[image]);
      pictures.push_back(file.starts_with('/') || slash == path.npos ? file : path.substr(0, slash + 1) + file);
    }
    return picture_files(std::move(pictures), targets, std::move(classes), options.gray);
  }
  std::vector<size_t> columns;
  for (const std::string& name : options.features) columns.push_back(column_of(name));
  if (options.features.empty())
    for (size_t i = 0; i < names.size(); ++i)
      if (i != target) columns.push_back(i);
  Tensor features(DType::f32, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns.size())});
  float* to = features.writable().data<float>();
  for (const Row& row : rows)
    for (const size_t column : columns) {
      double value = 0;
      if (!read_number(row.cells[column], value))
        throw InvalidArgument("{}: line {} has \"{}\" in the column \"{}\", which is no finite number", path, row.line, row.cells[column],
                              names[column]);
      *to++ = static_cast<float>(value);
    }
  return tensors({features, targets}, std::move(classes));
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::data

// SPDX-License-Identifier: Apache-2.0
// Pictures as inputs, and the preprocessing that models carry for them: JPEG, PNG, WebP, BMP, PGM and PPM files, through minnow_vision
// where the build has it.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/error.h"
#include "base/os.h"
#include "cli/commands.h"
#if MINNOW_PICTURES
#include <minnow/vision.h>
#endif

namespace minnow::cli {

void PictureOptions::add_to(CLI::App& command) {
  const auto add = [&](const char* name, const char* description) {
    CLI::Option* const option = command.add_option(name, CLI::callback_t(), description)->group("Pictures");
    options.push_back(option);
    return option;
  };
  add("--size", "HEIGHTxWIDTH that pictures are resized to; otherwise what the model or --shape says, else the picture's own")
      ->type_name("HxW");
  add("--fit",
      "stretch (default): sides change apart; crop: the middle of the picture, sides in proportion; letterbox: all of the picture, with a "
      "border")
      ->check(one_of({"stretch", "crop", "letterbox"}))
      ->type_name("");
  add("--color", "order of the channels; auto (default): gray where the model takes one channel, else rgb")
      ->check(one_of({"auto", "rgb", "bgr", "gray"}))
      ->type_name("");
  add("--layout", "nchw: channels before height and width; nhwc: behind them; auto (default): as the model's shape says")
      ->check(one_of({"auto", "nchw", "nhwc"}))
      ->type_name("");
  add("--mean", "subtracted from each pixel, which is 0 to 255: one number, or one for each channel: 123.7,116.3,103.5")
      ->type_name("NUMBERS");
  add("--scale", "multiplied with it then: 0.017, or 1/255, or one for each channel")->type_name("NUMBERS");
}

void PictureOptions::check_not_given(const std::string& why) const {
  for (const CLI::Option* const option : options)
    if (option->count() > 0) throw UsageError("{} {}", option->get_name(), why);
  if (!given.empty()) throw UsageError("{}{} {}", prefix, given.begin()->first, why);
}

bool PictureOptions::has(std::string_view name) {
  constexpr std::string_view kNames[] = {"size", "fit", "color", "layout", "mean", "scale"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::map<std::string, std::string> PictureOptions::keys() const {
  std::map<std::string, std::string> keys = given;
  for (const CLI::Option* const option : options)
    if (option->count() > 0) keys[option->get_name().substr(2)] = option->as<std::string>();
  if (const auto size = keys.find("size"); size != keys.end() && size->second.find('x') == std::string::npos)
    throw UsageError("{}size {}: write HEIGHTxWIDTH, 224x224 say", given.contains("size") ? prefix : "--", size->second);
  keys.insert(defaults.begin(), defaults.end());
  return keys;
}

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// One value from the beginning of `text`, which then begins behind it.
std::string take_value(std::string_view& text, const std::string& where) {
  text = trimmed(text);
  if (text.empty()) throw InvalidArgument("{} has no value", where);
  const bool quoted = text[0] == '"' || text[0] == '\'';
  const size_t end = quoted ? text.find(text[0], 1) : std::min(text.find_first_of(",[] \t"), text.size());
  if (end == text.npos) throw InvalidArgument("{} has a text without an end", where);
  if (end == 0) throw InvalidArgument(text[0] == ',' ? "{} has no value" : "{} has brackets that do not match", where);
  const std::string value(quoted ? text.substr(1, end - 1) : text.substr(0, end));
  text = trimmed(text.substr(end + (quoted ? 1 : 0)));
  return value;
}

}  // namespace

std::map<std::string, std::string> read_keys(const std::string& path, const char* subject) {
  const auto file = os::MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (text.find('\0') != text.npos || text.size() > 65536) throw InvalidArgument("{}: is no TOML file of {}", path, subject);
  std::map<std::string, std::string> keys;
  std::string statement;
  int row = 0, first_row = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1, ++row;
    for (size_t i = 0, quote = 0; i < line.size(); ++i) {  // a comment begins outside of a text
      const char c = line[i];
      if (quote ? c == static_cast<char>(quote) : c == '"' || c == '\'') quote = quote ? 0 : static_cast<size_t>(c);
      if (c == '#' && !quote) line = line.substr(0, i);
    }
    line = trimmed(line);
    if (line.empty()) continue;
    if (statement.empty()) first_row = row;
    (statement += ' ') += line;
    const std::string where = format("{}: row {}", path, first_row);
    std::string_view rest = trimmed(statement);
    const size_t equals = rest.find('=');
    if (rest[0] == '[') throw InvalidArgument("{} begins a table; the keys of {} stand outside of tables", where, subject);
    if (equals == rest.npos) throw InvalidArgument("{} is not `key = value`", where);
    const std::string key(trimmed(rest.substr(0, equals)));
    if (key.empty() || !std::all_of(key.begin(), key.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }))
      throw InvalidArgument("{}: \"{}\" in row {} is not the name of a key", path, key, first_row);
    rest = trimmed(rest.substr(equals + 1));
    std::string value;
    if (rest.starts_with('[')) {
      if (rest.find(']') == rest.npos && at < text.size()) continue;  // the array goes on in the next row
      if (rest.find(']') == rest.npos) throw InvalidArgument("{}: an array has no end", path);
      rest.remove_prefix(1);
      while (!trimmed(rest).starts_with(']')) {
        (value += value.empty() ? "" : ", ") += take_value(rest, where);
        if (rest.starts_with(','))
          rest.remove_prefix(1);
        else if (!rest.starts_with(']'))
          throw InvalidArgument("{} has an array whose values have no commas between", where);
      }
      rest = trimmed(trimmed(rest).substr(1));
      if (!rest.empty()) throw InvalidArgument("{} has brackets that do not match", where);
    } else {
      value = take_value(rest, where);
      if (rest.find_first_of("[]") != rest.npos) throw InvalidArgument("{} has brackets that do not match", where);
      if (!rest.empty()) throw InvalidArgument("{} has more than one value", where);
    }
    if (!keys.emplace(key, value).second) throw InvalidArgument("{}: {} is given twice", path, key);
    statement.clear();
  }
  if (!statement.empty()) throw InvalidArgument("{}: an array has no end", path);
  if (keys.empty()) throw InvalidArgument("{}: holds no keys; write at least one, color = \"rgb\" say", path);
  return keys;
}

bool is_picture(std::span<const std::byte> bytes) {
  const auto begins = [&](std::string_view magic) {
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  const bool webp = begins("RIFF") && bytes.size() >= 12 && std::memcmp(bytes.data() + 8, "WEBP", 4) == 0;
  return webp || begins("\xff\xd8\xff") || begins("\x89PNG\r\n\x1a\n") || begins("BM") || begins("P5\n") || begins("P6\n");
}

#if MINNOW_PICTURES
Tensor read_picture(const std::string& path, const Model& model, size_t index, std::span<const int64_t> wanted,
                    const PictureOptions& options) {
  using vision::PictureInput;
  const ValueDescription& input = model.inputs()[index];
  const PictureInput::Keys carried = PictureInput::carried_by(model);
  const bool is_carried = !carried.empty() && PictureInput::index_in(model, carried) == index;
  if (is_carried)
    options.check_not_given(format("cannot be used here: the model carries its own preprocessing for input \"{}\"", input.name));
  const PictureInput::Keys keys = is_carried ? carried : options.keys();
  const PictureInput make = [&] {
    try {
      return PictureInput(input, keys, wanted, is_carried ? "preprocess." : options.given.empty() ? "--" : options.prefix);
    } catch (const InvalidArgument& error) {
      if (is_carried) throw;
      throw UsageError("{}", error.what());
    }
  }();
  if (make.color() == vision::PixelFormat::gray)
    return make(vision::read_image(path, vision::ReadMode::grayscale), vision::PixelFormat::gray);
  return make(vision::read_image(path, vision::ReadMode::color));
}

Json labels_of(const Model& model, const std::vector<Datum>& outputs) {
  std::vector<TensorView> tensors;
  for (const Datum& output : outputs)
    if (output.kind == Datum::Kind::tensor) tensors.push_back(output.tensor);
  Json list = Json::array();
  for (const vision::LabelScore& row : vision::top_labels(model.labels(), tensors))
    list.push_back({{"label", row.label}, {"index", row.index}, {"probability", row.probability}});
  return list;
}

void check_preprocessing(const std::map<std::string, std::string>& keys, const Model& model, const std::string& path) {
  const std::string prefix = path + ": ";
  (void)vision::PictureInput(model.inputs()[vision::PictureInput::index_in(model, keys, prefix)], keys, {}, prefix);
}
#else
Tensor read_picture(const std::string& path, const Model&, size_t, std::span<const int64_t>, const PictureOptions&) {
  throw Unsupported("{}: is a picture, which this build of Minnow cannot read (CMake option MINNOW_VISION)", path);
}
Json labels_of(const Model&, const std::vector<Datum>&) { return Json::array(); }
void check_preprocessing(const std::map<std::string, std::string>&, const Model&, const std::string& path) {
  throw Unsupported("{}: describes pictures, which this build of Minnow cannot read (CMake option MINNOW_VISION)", path);
}
#endif

}  // namespace minnow::cli

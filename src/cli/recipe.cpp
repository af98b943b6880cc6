// SPDX-License-Identifier: Apache-2.0
#if MINNOW_COMPRESS
#include "cli/recipe.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/nearest.h"
#include "base/os.h"
#include "compress/names.h"

namespace minnow::cli {
namespace {

constexpr size_t kMostJson = size_t{64} << 20;

double number_in(const std::string& value, const std::string& where, double least, double most) {
  double found = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), found);
  if (error != std::errc() || end != value.data() + value.size() || !(found >= least && found <= most))
    throw InvalidArgument("{}: \"{}\" is not a number from {} to {}", where, value, least, most);
  return found;
}

/// A path in a recipe counts from the recipe's folder.
std::string beside(const std::string& recipe, const std::string& path) {
  const std::string folder = std::filesystem::path(recipe).parent_path().string();
  return folder.empty() || std::filesystem::path(path).is_absolute() ? path : folder + "/" + path;
}

size_t count_in(const std::string& value, const std::string& where) {
  const double count = number_in(value, where, 0, 1e9);
  if (count != std::floor(count)) throw InvalidArgument("{}: \"{}\" is not a whole number", where, value);
  return static_cast<size_t>(count);
}

bool truth(const std::string& value, const std::string& where) {
  if (value != "true" && value != "false") throw InvalidArgument("{}: \"{}\" is neither true nor false", where, value);
  return value == "true";
}

struct Key {
  const char* name;
  void (*set)(Recipe&, const std::string& value, const std::string& where);
};
using Text = const std::string;
constexpr Key kKeys[] = {
    {"calibration", [](Recipe& r, Text& value, Text&) { r.calibration = value, r.data_free = false; }},
    {"evaluation", [](Recipe& r, Text& value, Text&) { r.evaluation = value; }},
    {"html", [](Recipe& r, Text& value, Text&) { r.html = value; }},
    {"data_free",
     [](Recipe& r, Text& value, Text& where) {
       r.data_free = truth(value, where);
       if (r.data_free) r.calibration.clear();
     }},
    {"samples", [](Recipe& r, Text& value, Text& where) { r.samples = count_in(value, where); }},
    {"shape", [](Recipe& r, Text& value, Text&) { r.shapes = compress::words(value); }},
    {"operators", [](Recipe& r, Text& value, Text&) { r.operators = compress::words(value); }},
    {"min_sqnr", [](Recipe& r, Text& value, Text& where) { r.min_sqnr = number_in(value, where, -1000, 1000); }},
    {"min_agreement", [](Recipe& r, Text& value, Text& where) { r.min_agreement = number_in(value, where, 0, 100); }},
    {"max_drop", [](Recipe& r, Text& value, Text& where) { r.max_drop = number_in(value, where, 0, 100); }},
    {"max_size", [](Recipe& r, Text& value, Text& where) { r.most_bytes = bytes_of_size(value, where); }},
    {"auto", [](Recipe& r, Text& value, Text& where) { r.automatic = truth(value, where); }},
    {"compress", [](Recipe& r, Text& value, Text& where) { r.compress = truth(value, where); }},
};
constexpr std::string_view kPaths[] = {"calibration", "evaluation", "html"};

void read_toml(const std::string& path, Recipe& recipe) {
  const std::string prefix = path + ": ";
  const auto keys = read_keys(path, "quantization");
  if (const auto data_free = keys.find("data_free"); keys.contains("calibration") && data_free != keys.end() && data_free->second == "true")
    throw InvalidArgument("{}data_free makes samples up; leave out calibration", prefix);
  for (const auto& [key, value] : keys) {
    if (key == "data_free" && value == "false") continue;
    const bool is_path = std::find(std::begin(kPaths), std::end(kPaths), key) != std::end(kPaths);
    std::string from_folder = value;
    if (key == "operators") {
      from_folder.clear();
      for (const std::string& each : compress::words(value)) from_folder += (from_folder.empty() ? "" : ", ") + beside(path, each);
    } else if (is_path) {
      from_folder = beside(path, value);
    }
    recipe.set(key, from_folder, prefix);
  }
}

/// Values of a JSON file, with errors that name their place.
struct Reader {
  const std::string& prefix;
  template <class... Args>
  [[noreturn]] void fail(std::string_view key, std::string_view pattern, const Args&... args) const {
    throw InvalidArgument("{}{}: {}", prefix, key, format(pattern, args...));
  }
  std::string text(const Json& value, std::string_view key) const {
    if (!value.is_string()) fail(key, "is no text");
    return value.get<std::string>();
  }
  int64_t integer(const Json& value, std::string_view key, int64_t least, int64_t most) const {
    const double found = value.is_number() ? value.get<double>() : std::nan("");
    if (!(found >= static_cast<double>(least) && found <= static_cast<double>(most) && found == std::floor(found)))
      fail(key, "{} is not a whole number from {} to {}", value.dump(), least, most);
    return static_cast<int64_t>(found);
  }
  std::string numbers(const Json& value, std::string_view key) const {
    if (!value.is_array() || value.empty() || value.size() > 4) fail(key, "is no list of one to four numbers");
    std::string list;
    for (const Json& each : value) {
      if (!each.is_number()) fail(key, "is no list of one to four numbers");
      (list += list.empty() ? "" : ",") += each.dump();
    }
    return list;
  }
};

struct Word {
  const char *theirs, *ours;
};
constexpr Word kFeatureMethods[] = {{"KL", "kl"}, {"ADMM", "admm"}, {"EMA", "moving-average"}};
constexpr Word kWeightMethods[] = {{"MAX_ABS", "minmax"}, {"ADMM", "mse"}};
constexpr Word kFormats[] = {{"RGB", "rgb"}, {"BGR", "bgr"}, {"GRAY", "gray"}, {"RGBA", "rgba"}, {"BGRA", "bgra"}};

template <size_t n>
std::string translated(const Reader& read, const Json& value, std::string_view key, const Word (&words)[n]) {
  const std::string text = read.text(value, key);
  std::string names;
  for (const Word& word : words) {
    if (text == word.theirs) return word.ours;
    (names += names.empty() ? "" : ", ") += word.theirs;
  }
  read.fail(key, "\"{}\" is none of {}", text, names);
}

/// The settings of quantized.out.
void read_settings(const std::string& path, const Json& json, Recipe& recipe) {
  const std::string prefix = path + ": ";
  const Reader read{prefix};
  std::string width, height;
  const std::vector<std::string> known = {"format",
                                          "mean",
                                          "normal",
                                          "width",
                                          "height",
                                          "path",
                                          "used_image_num",
                                          "used_sample_num",
                                          "feature_quantize_method",
                                          "weight_quantize_method",
                                          "feature_clamp_value",
                                          "weight_clamp_value",
                                          "batch_size",
                                          "quant_bits",
                                          "skip_quant_op_names",
                                          "input_type",
                                          "debug",
                                          "winogradOpt",
                                          "model"};
  std::map<std::string, std::string>& pictures = recipe.pictures.defaults;
  pictures["color"] = "bgr";  // where no format is given
  const auto set = [&](const char* key, const std::string& value) { recipe.set(key, value, prefix); };
  set("method", "kl"), set("weights", "minmax");
  for (const auto& [key, value] : json.items()) {
    if (key == "format") {
      pictures["color"] = translated(read, value, key, kFormats);
    } else if (key == "mean" || key == "normal") {
      pictures[key == "mean" ? "mean" : "scale"] = read.numbers(value, key);
    } else if (key == "width" || key == "height") {
      (key == "width" ? width : height) = std::to_string(read.integer(value, key, 1, 1 << 20));
    } else if (key == "path") {
      // Theirs counts from the current folder.
      const std::string given = read.text(value, key);
      std::error_code error;
      recipe.calibration = std::filesystem::exists(given, error) ? given : beside(path, given);
    } else if (key == "used_image_num" || key == "used_sample_num") {
      recipe.samples = static_cast<size_t>(read.integer(value, key, 0, 1000000000));
    } else if (key == "feature_quantize_method") {
      set("method", translated(read, value, key, kFeatureMethods));
    } else if (key == "weight_quantize_method") {
      set("weights", translated(read, value, key, kWeightMethods));
    } else if (key == "quant_bits") {
      set("weight_bits", std::to_string(read.integer(value, key, 2, 8)));
    } else if (key == "feature_clamp_value" || key == "weight_clamp_value") {
      if (read.integer(value, key, 1, 127) != 127) read.fail(key, "{} is not supported; the range is chosen by the method", value.dump());
    } else if (key == "skip_quant_op_names") {
      if (!value.is_array()) read.fail(key, "is no list of names");
      std::string names;
      for (const Json& each : value) (names += names.empty() ? "" : ", ") += read.text(each, key);
      if (!names.empty()) set("skip", names);
    } else if (key == "input_type") {
      const std::string type = read.text(value, key);
      if (type != "image" && type != "sequence") read.fail(key, "\"{}\" is none of image, sequence", type);
      if (type == "sequence") pictures.clear();
    } else if (std::find(known.begin(), known.end(), key) == known.end()) {
      read.fail(key, "is no setting that quantize knows{}", nearest(key, known));
    }  // batch_size, debug, winogradOpt and model change nothing here
  }
  if (json.contains("input_type") && json["input_type"] == "sequence")
    pictures.clear();
  else if (!width.empty() && !height.empty())
    pictures["size"] = height + "x" + width;
}

const Json* member(const Json& json, const char* name, const char* other) {
  if (!json.is_object()) return nullptr;
  const auto found = json.contains(name) ? json.find(name) : json.find(other);
  return found == json.end() ? nullptr : &*found;
}

/// The compression parameters of MNNConvert, as it writes and reads them: bits, blocks and zero points of weights.
void read_parameters(const std::string& path, const Json& json, Recipe& recipe) {
  const std::string prefix = path + ": ";
  const Reader read{prefix};
  std::string bits_for;
  std::optional<int64_t> block;
  std::optional<bool> asymmetric;
  if (!json["algo"].is_array()) read.fail("algo", "is no list");
  for (const Json& algorithm : json["algo"]) {
    const Json* type = member(algorithm, "type", "type");
    if (type && *type != 0 && *type != "QUANTIZE")
      throw Unsupported("{}algo: has type {}; quantize takes algorithms of type QUANTIZE alone", prefix, type->dump());
    const Json* parameters = member(algorithm, "quant_params", "quantParams");
    const Json* layers = parameters ? member(*parameters, "layer", "layer") : nullptr;
    if (!layers || !layers->is_array()) read.fail("quant_params", "holds no list of layers");
    for (const Json& layer : *layers) {
      for (const char* side : {"input", "output"})
        if (const Json* activations = member(layer, side, side); activations && !activations->empty())
          throw Unsupported("{}layer: gives scales of its {}; only the bits of weights are taken from such a file", prefix, side);
      const Json *weights = member(layer, "weight", "weight"), *op = member(layer, "op_name", "opName");
      if (!weights || !weights->is_array()) read.fail("layer", "holds no list of weights");
      for (const Json& weight : *weights) {
        const Json *name = op ? op : member(weight, "name", "name"), *bits = member(weight, "bits", "bits"),
                   *size = member(weight, "block_size", "blockSize"), *zeros = member(weight, "asymmetric", "asymmetric");
        if (!name) read.fail("weight", "has no name");
        const int64_t count = bits ? read.integer(*bits, "bits", 0, 32) : 8;
        (bits_for += bits_for.empty() ? "" : ", ") += format("{}={}", read.text(*name, "name"), count);
        if (count == 0 || count > 8) continue;
        const int64_t of_block = size ? read.integer(*size, "block_size", -1, 1 << 20) : 0;
        if (block && *block != of_block) read.fail("block_size", "differs from layer to layer, which is not supported");
        block = of_block;
        if (zeros && !zeros->is_boolean()) read.fail("asymmetric", "is neither true nor false");
        const bool has_zeros = zeros && zeros->get<bool>();
        if (asymmetric && *asymmetric != has_zeros) read.fail("asymmetric", "differs from layer to layer, which is not supported");
        asymmetric = has_zeros;
      }
    }
  }
  if (bits_for.empty()) read.fail("algo", "names no layers");
  recipe.set("weights_only", "rtn", prefix);
  recipe.set("bits_for", bits_for, prefix);
  // Theirs may be as long as a row; ours go up to 256.
  recipe.set("block_size", std::to_string(block && *block > 0 ? *block : 256), prefix);
  recipe.set("symmetric", asymmetric.value_or(false) ? "false" : "true", prefix);
}

}  // namespace

size_t bytes_of_size(const std::string& text, const std::string& where) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::erase(unit, ' ');
  constexpr std::pair<const char*, double> kUnits[] = {{"", 1}, {"B", 1}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};
  const auto found = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& each) { return unit == each.first; });
  if (error != std::errc() || found == std::end(kUnits) || !(number > 0) || number * found->second > 1e15)
    throw InvalidArgument("{}: \"{}\" is not a size; write 2MB or 300kB", where, text);
  return static_cast<size_t>(number * found->second);
}

void Recipe::set(const std::string& key, const std::string& value, const std::string& prefix) {
  for (const Key& each : kKeys)
    if (key == each.name) return each.set(*this, value, prefix + key);
  if (PictureOptions::has(key)) {
    pictures.given[key] = value, pictures.prefix = prefix;
  } else if (!steps.set(key, value, prefix)) {
    options.set(key, value, prefix);
  }
}

Recipe read_recipe(const std::string& path, Recipe recipe) {
  if (!path.ends_with(".json")) {
    read_toml(path, recipe);
    return recipe;
  }
  const auto file = os::MappedFile::open(path);
  const auto* text = reinterpret_cast<const char*>(file->bytes().data());
  if (file->bytes().size() > kMostJson)
    throw InvalidArgument("{}: has {} bytes, recipes have at most {}", path, file->bytes().size(), kMostJson);
  const Json json = Json::parse(text, text + file->bytes().size(), nullptr, false);
  if (!json.is_object()) throw InvalidArgument("{}: is no JSON object", path);
  if (json.contains("algo"))
    read_parameters(path, json, recipe);
  else
    read_settings(path, json, recipe);
  return recipe;
}

}  // namespace minnow::cli
#endif

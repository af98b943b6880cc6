// SPDX-License-Identifier: Apache-2.0
#include "importers/caffe/net.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/error.h"
#include "base/numeric.h"
#include "importers/onnx/wire.h"

namespace minnow::caffe {
namespace {

using onnx::Fields;

// Layer types of the second generation, by their enumeration's name and number.
struct OldType {
  std::string_view old_name;
  int number;
  std::string_view name;
};
constexpr OldType kOldTypes[] = {
    {"ABSVAL", 35, "AbsVal"},
    {"ACCURACY", 1, "Accuracy"},
    {"ARGMAX", 30, "ArgMax"},
    {"BNLL", 2, "BNLL"},
    {"CONCAT", 3, "Concat"},
    {"CONVOLUTION", 4, "Convolution"},
    {"DATA", 5, "Data"},
    {"DECONVOLUTION", 39, "Deconvolution"},
    {"DROPOUT", 6, "Dropout"},
    {"DUMMY_DATA", 32, "DummyData"},
    {"ELTWISE", 25, "Eltwise"},
    {"EUCLIDEAN_LOSS", 7, "EuclideanLoss"},
    {"EXP", 38, "Exp"},
    {"FLATTEN", 8, "Flatten"},
    {"HDF5_DATA", 9, "HDF5Data"},
    {"HINGE_LOSS", 28, "HingeLoss"},
    {"IMAGE_DATA", 12, "ImageData"},
    {"INNER_PRODUCT", 14, "InnerProduct"},
    {"LRN", 15, "LRN"},
    {"MEMORY_DATA", 29, "MemoryData"},
    {"MVN", 34, "MVN"},
    {"POOLING", 17, "Pooling"},
    {"POWER", 26, "Power"},
    {"RELU", 18, "ReLU"},
    {"SIGMOID", 19, "Sigmoid"},
    {"SIGMOID_CROSS_ENTROPY_LOSS", 27, "SigmoidCrossEntropyLoss"},
    {"SILENCE", 36, "Silence"},
    {"SLICE", 33, "Slice"},
    {"SOFTMAX", 20, "Softmax"},
    {"SOFTMAX_LOSS", 21, "SoftmaxWithLoss"},
    {"SPLIT", 22, "Split"},
    {"TANH", 23, "TanH"},
    {"THRESHOLD", 31, "Threshold"},
    {"WINDOW_DATA", 24, "WindowData"},
};

// Layer types of Caffe's first file format, their names today, and the message that holds their parameters today.
struct FirstType {
  std::string_view old_name, name, parameters;
};
constexpr FirstType kFirstTypes[] = {
    {"bnll", "BNLL", ""},
    {"concat", "Concat", "concat_param"},
    {"conv", "Convolution", "convolution_param"},
    {"data", "Data", ""},
    {"dropout", "Dropout", "dropout_param"},
    {"euclidean_loss", "EuclideanLoss", ""},
    {"flatten", "Flatten", ""},
    {"images", "ImageData", ""},
    {"innerproduct", "InnerProduct", "inner_product_param"},
    {"lrn", "LRN", "lrn_param"},
    {"pool", "Pooling", "pooling_param"},
    {"relu", "ReLU", "relu_param"},
    {"sigmoid", "Sigmoid", ""},
    {"softmax", "Softmax", ""},
    {"softmax_loss", "SoftmaxWithLoss", ""},
    {"split", "Split", ""},
    {"tanh", "TanH", ""},
};
constexpr std::pair<std::string_view, std::string_view> kFirstFields[] = {{"biasterm", "bias_term"}, {"kernelsize", "kernel_size"}};

/// True if the rule's conditions hold for inference: phase TEST, level 0, no stages.
bool rule_holds(const Message& rule) {
  if (rule.has("phase") && rule.choice("phase", {"TRAIN", "TEST"}, 1) != 1) return false;
  if (rule.integer("min_level", 0) > 0 || rule.integer("max_level", 0) < 0) return false;
  return !rule.has("stage");
}

bool is_used(const Message& layer) {
  const auto includes = layer.messages("include"), excludes = layer.messages("exclude");
  if (!includes.empty()) return std::any_of(includes.begin(), includes.end(), [](const Message* rule) { return rule_holds(*rule); });
  return std::none_of(excludes.begin(), excludes.end(), [](const Message* rule) { return rule_holds(*rule); });
}

Ints shape_of(const Message& shape) { return shape.integers("dim"); }

Layer layer_of(const Message& message, const std::string& type) {
  Layer layer;
  layer.name = message.text("name");
  layer.type = type;
  layer.bottoms = message.texts("bottom");
  layer.tops = message.texts("top");
  layer.message = message;
  return layer;
}

std::string type_of_old(const std::string& text) {
  for (const OldType& row : kOldTypes)
    if (row.old_name == text || std::to_string(row.number) == text) return std::string(row.name);
  return text;
}

/// A layer of the first generation: `layer { name, type, parameters }` beside bottom and top.
Layer first_generation(const Message& outer, int64_t& padding) {
  const Message& inner = outer.message("layer");
  const std::string old_type = inner.text("type");
  Layer layer = layer_of(outer, old_type);
  layer.name = inner.text("name");
  layer.message = Message();
  if (old_type == "padding") {
    padding = inner.integer("pad", 0);
    layer.type = "Split";  // hands its input on; the next convolution pads
    return layer;
  }
  for (const FirstType& row : kFirstTypes) {
    if (row.old_name != old_type) continue;
    layer.type = row.name;
    if (row.parameters.empty()) break;
    Message& parameters = layer.message.add_message(std::string(row.parameters));
    for (const Message::Field& field : inner.fields) {
      if (field.name == "name" || field.name == "type" || field.message) continue;
      std::string name = field.name;
      for (const auto& [before, now] : kFirstFields)
        if (name == before) name = now;
      parameters.add(name, field.text);
    }
    if (old_type == "conv" && padding) parameters.add("pad", std::to_string(padding)), padding = 0;
  }
  return layer;
}

}  // namespace

Net read_net(std::string_view text) {
  const Message message = parse_text(text);
  Net net;
  net.name = message.text("name");
  const std::vector<std::string> names = message.texts("input");
  const Ints dims = message.integers("input_dim");
  const auto shapes = message.messages("input_shape");
  for (size_t i = 0; i < names.size(); ++i) {
    NetInput input{names[i], {}};
    if (i < shapes.size())
      input.shape = shape_of(*shapes[i]);
    else if (4 * i + 4 <= dims.size())
      input.shape.assign(dims.begin() + static_cast<ptrdiff_t>(4 * i), dims.begin() + static_cast<ptrdiff_t>(4 * i + 4));
    net.inputs.push_back(std::move(input));
  }
  int64_t padding = 0;
  for (const Message::Field& field : message.fields) {
    if (!field.message || (field.name != "layer" && field.name != "layers")) continue;
    const Message& one = *field.message;
    if (!is_used(one)) continue;
    if (field.name == "layers" && one.has("layer"))
      net.layers.push_back(first_generation(one, padding));
    else
      net.layers.push_back(layer_of(one, field.name == "layers" ? type_of_old(one.text("type")) : one.text("type")));
  }
  return net;
}

namespace {

template <class T>
T element(std::string_view bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

Blob read_blob(std::string_view bytes) {
  Blob blob;
  Ints old_shape(4, 0);
  bool is_old = false;
  int64_t raw_type = 1;
  std::string_view raw;
  for (Fields fields(bytes); fields.next();) {
    const uint32_t number = fields.number();
    if (number >= 1 && number <= 4) {
      old_shape[number - 1] = fields.integer();
      is_old = true;
    } else if (number == 5) {
      const std::string_view data = fields.fixed(4);
      const size_t before = blob.values.size();
      blob.values.resize(before + data.size() / 4);
      if (!data.empty()) std::memcpy(blob.values.data() + before, data.data(), data.size());
    } else if (number == 7) {
      for (Fields shape(fields.bytes()); shape.next();)
        if (shape.number() == 1)
          shape.integers([&](int64_t dim) {
            if (blob.shape.size() > 32) throw TextError{"a blob has more than 32 dimensions"};
            blob.shape.push_back(dim);
          });
    } else if (number == 8) {
      const std::string_view data = fields.fixed(8);
      for (size_t i = 0; i < data.size() / 8; ++i) blob.values.push_back(static_cast<float>(element<double>(data, i)));
    } else if (number == 10) {
      raw_type = fields.integer();
    } else if (number == 12) {
      raw = fields.bytes();
    }
  }
  if (blob.shape.empty() && is_old) blob.shape = old_shape;
  if (!raw.empty()) {
    const size_t size = raw_type == 0 ? 8 : raw_type == 1 ? 4 : 2;
    if (raw_type < 0 || raw_type > 2) throw TextError{"a blob holds raw numbers of an unknown type"};
    for (size_t i = 0; i < raw.size() / size; ++i)
      blob.values.push_back(raw_type == 0   ? static_cast<float>(element<double>(raw, i))
                            : raw_type == 1 ? element<float>(raw, i)
                                            : f32_from_f16(element<uint16_t>(raw, i)));
  }
  return blob;
}

}  // namespace

std::map<std::string, std::vector<Blob>> read_blobs(std::string_view bytes) {
  std::map<std::string, std::vector<Blob>> all;
  for (Fields net(bytes); net.next();) {
    const uint32_t generation = net.number();
    if (generation != 100 && generation != 2) continue;
    // Today's layers have the name in field 1 and blobs in 7; those of the second generation in 4 and 6; of the first in a message 1 with 1
    // and 50.
    std::string name;
    std::vector<Blob> blobs;
    const auto read = [&](std::string_view layer, uint32_t name_field, uint32_t blob_field) {
      for (Fields fields(layer); fields.next();) {
        if (fields.number() == name_field) name = fields.bytes();
        if (fields.number() == blob_field) blobs.push_back(read_blob(fields.bytes()));
      }
    };
    if (generation == 100) {
      read(net.bytes(), 1, 7);
    } else {
      std::string_view first;
      for (Fields fields(net.bytes()); fields.next();)
        if (fields.number() == 1) first = fields.bytes();
      if (!first.empty())
        read(first, 1, 50);
      else
        read(net.bytes(), 4, 6);
    }
    if (!blobs.empty()) all[name] = std::move(blobs);
  }
  return all;
}

bool looks_like_prototxt(std::string_view head) {
  if (std::any_of(head.begin(), head.end(), [](char c) { return c == '\0'; })) return false;
  try {
    // The first words of a network: its name, inputs or a layer. The head may end in the middle.
    size_t at = 0;
    while (at < head.size()) {
      if (std::isspace(static_cast<unsigned char>(head[at]))) {
        ++at;
      } else if (head[at] == '#') {
        while (at < head.size() && head[at] != '\n') ++at;
      } else {
        break;
      }
    }
    const std::string_view rest = head.substr(at);
    size_t end = 0;
    while (end < rest.size() && (std::isalnum(static_cast<unsigned char>(rest[end])) || rest[end] == '_')) ++end;
    const std::string_view word = rest.substr(0, end);
    size_t next = end;
    while (next < rest.size() && std::isspace(static_cast<unsigned char>(rest[next]))) ++next;
    if (next >= rest.size() || (rest[next] != ':' && rest[next] != '{')) return false;
    for (std::string_view name : {"name", "input", "input_dim", "input_shape", "layer", "layers", "state", "force_backward", "debug_info"})
      if (word == name) return head.find("layer") != head.npos;
  } catch (...) {}
  return false;
}

bool looks_like_caffemodel(std::string_view head) {
  // Field 1 (the name), then layers; or layers at once. ONNX models begin with a varint in field 1.
  size_t at = 0;
  const auto byte = [&](size_t i) { return i < head.size() ? static_cast<unsigned char>(head[i]) : 0u; };
  if (byte(0) == 0x0a) {
    const size_t length = byte(1);
    if (length >= 0x80) return false;
    at = 2 + length;
  }
  // Inputs (3, 4 or 8), force_backward (5), state (6) may come between.
  for (int i = 0; i < 64; ++i) {
    const unsigned tag = byte(at);
    if (tag == 0x12) return byte(at + 1) != 0 && (byte(0) == 0x0a || at > 0 || head.size() > 16);
    if (tag == 0xa2 && byte(at + 1) == 0x06) return true;
    if (tag == 0x1a || tag == 0x32 || tag == 0x42) {
      if (byte(at + 1) >= 0x80) return false;
      at += 2 + byte(at + 1);
    } else if (tag == 0x20 || tag == 0x28) {
      do ++at;
      while (byte(at) & 0x80);
      ++at;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace minnow::caffe

// SPDX-License-Identifier: Apache-2.0
// A Caffe network in today's form: inputs, layers of the test phase, and their blobs by layer name.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "importers/caffe/prototxt.h"

namespace minnow::caffe {

/// A layer's trained numbers. The shape is the file's; older files store four dimensions whatever there are.
struct Blob {
  Ints shape;
  std::vector<float> values;
};

struct Layer {
  std::string name, type;  // type: today's name ("Convolution"), also for files that number them
  std::vector<std::string> bottoms, tops;
  Message message;
};

struct NetInput {
  std::string name;
  Ints shape;  // empty: not given
};

struct Net {
  std::string name;
  std::vector<NetInput> inputs;
  std::vector<Layer> layers;
};

/// The network that a prototxt describes, of any of the three generations; layers that only train are left out. Throws TextError.
Net read_net(std::string_view text);
/// The blobs of a caffemodel by layer name. Throws Malformed and TextError.
std::map<std::string, std::vector<Blob>> read_blobs(std::string_view bytes);

/// True for text that looks like a prototxt, and for bytes that look like a caffemodel.
bool looks_like_prototxt(std::string_view head);
bool looks_like_caffemodel(std::string_view head);

}  // namespace minnow::caffe

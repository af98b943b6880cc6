// SPDX-License-Identifier: Apache-2.0
// Runs a model (.minnow, or a format that is converted) on zeros, and prints what goes in and what comes out: run_model MODEL
#include <minnow/convert.h>
#include <minnow/minnow.h>

#include <algorithm>
#include <cstdio>

int main(int argc, char** argv) try {
  if (argc != 2) return std::fputs("usage: run_model MODEL\n", stderr), 2;
  const minnow::Model model = minnow::convert(argv[1]);
  minnow::Session session(model);

  std::vector<std::vector<std::byte>> memory;  // of the caller; the session reads it in place
  std::vector<minnow::TensorView> inputs;
  for (const minnow::ValueDescription& input : model.inputs()) {
    minnow::Shape shape;
    for (int64_t dim : input.dims) shape.push_back(std::max<int64_t>(dim, 1));  // -1: not fixed
    memory.emplace_back(static_cast<size_t>(shape.elements()) * minnow::size_of(input.dtype));
    inputs.emplace_back(input.dtype, shape, memory.back().data());
    std::printf("input %s: %s\n", input.name.c_str(), input.type.c_str());
  }
  const std::vector<minnow::Tensor> outputs = session.run(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::printf("output %s: %s%s", model.outputs()[i].name.c_str(), to_string(outputs[i].dtype()).c_str(),
                to_string(outputs[i].shape()).c_str());
    if (outputs[i].dtype() == minnow::DType::f32)
      for (int64_t k = 0; k < std::min<int64_t>(outputs[i].elements(), 4); ++k)
        std::printf(" %g", static_cast<double>(outputs[i].data<float>()[k]));
    std::puts("");
  }
} catch (const minnow::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}

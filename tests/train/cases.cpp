// SPDX-License-Identifier: Apache-2.0
#include "train/cases.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/paths.h"

namespace minnow::train {
namespace {

Setting setting_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (text[0] == '[') {
    std::vector<double> list;
    std::stringstream items(text.substr(1, text.size() - 2));
    for (std::string item; std::getline(items, item, ',');) list.push_back(std::atof(item.c_str()));
    return list;
  }
  if (text.find_first_of(".en") == std::string::npos) return static_cast<int64_t>(std::atoll(text.c_str()));
  return std::atof(text.c_str());
}

struct Place {
  const char* name;
  Shape shape;
};
const Place kPlaces[] = {{"layer.weight", {4, 6}}, {"layer.bias", {4}}, {"conv.weight", {3, 2, 2, 2}}, {"out.bias", {1}}};

void put(const Tensor& tensor, size_t i, double x) {
  if (tensor.dtype() == DType::f32)
    const_cast<float*>(tensor.data<float>())[i] = static_cast<float>(x);
  else
    const_cast<double*>(tensor.data<double>())[i] = x;
}
double get(const Tensor& tensor, size_t i) {
  return tensor.dtype() == DType::f32 ? static_cast<double>(tensor.data<float>()[i]) : tensor.data<double>()[i];
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> made = [] {
    std::vector<Case> result;
    std::ifstream file(test::source_dir() / "tests" / "train" / "answers.txt");
    for (std::string line; std::getline(file, line);) {
      std::stringstream words(line);
      std::string word, name, value;
      words >> word;
      if (word[0] == '#') continue;
      if (word == "case") {
        words >> result.emplace_back().name >> result.back().library;
        continue;
      }
      Case& current = result.back();
      Optimizer::Config& config = current.config;
      if (word == "answer") {
        words >> name;
        std::vector<double>& answers = current.answers[name];
        for (std::string number; words >> number;) answers.push_back(std::atof(number.c_str()));
      } else if (word == "set") {
        words >> name >> value;
        config.settings.emplace_back(name, setting_of(value));
      } else if (word == "group") {
        std::string pattern;
        words >> pattern >> name >> value;
        if (config.groups.empty() || config.groups.back().pattern != pattern) config.groups.push_back({pattern, {}});
        config.groups.back().settings.emplace_back(name, setting_of(value));
      } else if (word == "schedule") {
        std::string schedule;
        Settings settings;
        words >> schedule;
        while (words >> name >> value) settings.emplace_back(name, setting_of(value));
        config.schedule = Schedule::create(schedule, settings);
      } else {
        words >> value;
        const double x = std::atof(value.c_str());
        if (word == "optimizer") config.name = value;
        if (word == "clip_norm") config.clip_norm = x;
        if (word == "clip_value") config.clip_value = x;
        if (word == "clip_adaptive") config.clip_adaptive = x;
        if (word == "accumulate") config.accumulate = static_cast<int>(x);
        if (word == "average") config.average = x;
        if (word == "sharpness") config.sharpness = x;
        if (word == "kind") current.kind = value;
        if (word == "steps") current.steps = static_cast<int>(x);
        if (word == "f32") current.f32 = x;
        if (word == "evaluate") current.evaluate = true;
        if (word == "curvature") current.curvature = true;
      }
    }
    return result;
  }();
  return made;
}

double noise(uint32_t tensor, uint32_t step, uint32_t element) {
  uint32_t x = element * 104729u + tensor * 7919u + step * 1299709u + 12345u;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  x ^= x >> 16;
  return static_cast<double>(x >> 16) / 32768 - 1;
}

Model::Model(DType dtype) {
  for (uint32_t i = 0; i < std::size(kPlaces); ++i) {
    const Shape& shape = kPlaces[i].shape;
    for (std::vector<Tensor>* list : {&weights_, &gradients_, &curvatures_}) list->emplace_back(dtype, shape);
    for (uint32_t j = 0; j < shape.elements(); ++j) put(weights_[i], j, noise(i, 1000, j));
    tensors_.push_back({kPlaces[i].name, weights_[i].writable(), gradients_[i]});
  }
}

std::span<const Trainable> Model::gradients(int step, const std::string& kind, bool curvature) {
  const uint32_t t = static_cast<uint32_t>(step);
  for (uint32_t i = 0; i < weights_.size(); ++i) {
    for (uint32_t j = 0; j < weights_[i].elements(); ++j) {
      const double away = get(weights_[i], j) - 0.25 * noise(i, 2000, j);
      const double x = kind == "valley"    ? (1 + 0.5 * noise(i, 3000, j)) * away + 8 * away * away * away
                       : kind == "squares" ? (1 + 0.5 * noise(i, 3000, j)) * (get(weights_[i], j) - 0.25 * noise(i, 2000, j))
                                           : 0.5 * noise(i, t, j) + 0.25 * noise(i, 2000, j);
      put(gradients_[i], j, x);
      put(curvatures_[i], j, std::fabs(noise(i, t + 5000, j)));
    }
    tensors_[i].curvature = curvature ? curvatures_[i].view() : TensorView();
  }
  return tensors_;
}

void Model::step(Optimizer& optimizer, int step, const Case& by) {
  if (by.kind != "valley") return optimizer.on_execute(gradients(step, by.kind, by.curvature));
  optimizer.on_minimize(tensors_, [&] {
    gradients(step, by.kind);
    return loss();
  });
}

double Model::loss() const {
  double sum = 0;
  for (uint32_t i = 0; i < weights_.size(); ++i)
    for (uint32_t j = 0; j < weights_[i].elements(); ++j) {
      const double away = get(weights_[i], j) - 0.25 * noise(i, 2000, j);
      sum += (1 + 0.5 * noise(i, 3000, j)) * away * away / 2 + 2 * away * away * away * away;
    }
  return sum;
}

std::vector<double> Model::values(size_t i) const {
  std::vector<double> values;
  for (size_t j = 0; j < static_cast<size_t>(weights_[i].elements()); ++j) values.push_back(get(weights_[i], j));
  return values;
}

}  // namespace minnow::train

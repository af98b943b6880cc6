// SPDX-License-Identifier: Apache-2.0
// Expressions and a loop: the square roots of some numbers by Newton's method, as a model that is saved, loaded and run: newton [FILE]
#include <minnow/express.h>

#include <cstdio>

using namespace minnow;

int main(int argc, char** argv) try {
  const char* path = argc > 1 ? argv[1] : "newton.minnow";
  const Var a = expr::placeholder("a", DType::f32, {-1});
  const Vars root = expr::while_loop([&](const Vars& v) { return expr::reduce_max(expr::abs(v[0] * v[0] - a)) > 1e-4; },
                                     [&](const Vars& v) { return Vars{(v[0] + a / v[0]) * 0.5}; }, {a}, 50);
  root[0].set_name("root");
  expr::save(root, path);

  const std::shared_ptr<Module> net = load_module(path, {"a"}, {"root"});
  for (const int count : {3, 5}) {  // any number of numbers
    Vars numbers;
    for (int i = 1; i <= count; ++i) numbers.push_back(Var::scalar(i, DType::f32)[{kNewAxis}]);
    std::printf("%s\n", to_string((*net)(expr::concat(numbers, 0))).c_str());
  }
} catch (const Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}

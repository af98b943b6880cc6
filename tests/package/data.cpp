// SPDX-License-Identifier: Apache-2.0
#include <minnow/data.h>

#include <cstdio>

int main() {
  using namespace minnow;
  const auto points = data::tensors({Tensor(DType::f32, {5, 2}), Tensor::of_i64({5}, std::vector<int64_t>{0, 1, 2, 3, 4})});
  data::DataLoader loader(points, {.batch_size = 2, .shuffle = true, .workers = 1, .seed = 1});
  int64_t sum = 0;
  for (const data::Sample& batch : loader)
    for (int64_t i = 0; i < batch[1].elements(); ++i) sum += batch[1].data<int64_t>()[i];
  std::printf("%d batches, %d\n", static_cast<int>(loader.size()), static_cast<int>(sum));
  return loader.size() == 3 && sum == 10 ? 0 : 1;
}

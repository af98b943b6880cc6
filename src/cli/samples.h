// SPDX-License-Identifier: Apache-2.0
// Sets of inputs in files: a folder of pictures or of .npy and .npz files, or one such file that holds many.
#pragma once
#include <minnow/compress.h>

#include "cli/commands.h"

namespace minnow::cli {

/// The samples at `path`, where a folder may hold folders, at most `most` (0: all). An array is one sample if it has the input's shape;
/// else its first axis counts samples. `wanted`: the shape that pictures take, where the model leaves it open. Throws IoError,
/// InvalidArgument.
compress::Samples read_samples(const Model& model, const std::string& path, const PictureOptions& pictures, size_t most,
                               const std::vector<int64_t>& wanted = {});
/// An array as an input takes it: in its floats, and with the batch's axis of 1 where that is missing.
Tensor input_of(const ValueDescription& input, const Tensor& given);
/// The same from arrays by the names of inputs. `where`: the beginning of errors.
compress::Samples samples_of(const Model& model, const std::vector<std::pair<std::string, Tensor>>& arrays, const std::string& where);

}  // namespace minnow::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/minnow.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace minnow {

/// Names of the backends of this build, in order of preference, and of those that were added.
std::vector<std::string> backend_names();
/// Adds a backend of the program's own, which sessions can name from now on. Throws InvalidArgument if there is one of that name.
using MakeBackend = std::function<std::shared_ptr<Backend>(const BackendOptions&)>;
void add_backend(const std::string& name, MakeBackend make);
/// The names of the backends that this machine can use.
std::vector<std::string> usable_backend_names();
/// The devices that they could use, and why one cannot be used.
std::vector<DeviceRow> device_rows();
/// A name without the number of a device: "cuda" of "cuda:1".
std::string_view family_of(std::string_view name);
/// `name` may have the number of a device behind it, as in "cuda:1"; 0 is the first of `minnow devices`. Throws InvalidArgument for a name
/// that this build does not have, with those that it has.
std::shared_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options);

/// The options of a session for its backends. Throws InvalidArgument for unknown words.
BackendOptions backend_options(const SessionOptions& options);
/// The names with "auto" replaced by the names that it stands for.
std::vector<std::string> resolved_names(const std::vector<std::string>& names);
/// The backends that a session's options name, behind devices the processor, and last the reference, which implements every operator.
/// `wanted`: how many are named. Reserves their threads in the process's pool and places the threads as the options say.
std::vector<std::shared_ptr<Backend>> make_backends(const SessionOptions& options, const BackendOptions& for_backends, size_t& wanted);

}  // namespace minnow

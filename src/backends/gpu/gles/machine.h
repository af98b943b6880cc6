// SPDX-License-Identifier: Apache-2.0
// A device of OpenGL ES that sessions share: one context, in which one thread at a time works, its memory and its programs.
#pragma once
#include <optional>
#include <string>

#include "backends/gpu/device_memory.h"
#include "backends/gpu/gles/api.h"
#include "backends/gpu/programs.h"
#include "backends/gpu/shaders/stored_shader.h"

namespace minnow::gpu::gles {

/// A device as a context describes it.
struct Found {
  Handle display = nullptr;
  std::string name, version, vendor;
  int max_groups[3] = {}, max_group[3] = {}, max_group_items = 0, max_shared_bytes = 0, max_buffers = 0, max_uniforms = 0,
      binary_formats = 0;
  int64_t max_buffer_bytes = 0;
  bool has_timer = false;
  std::string problem;

  bool is_processor() const;
  std::string details() const;
};

/// The best device first, unusable ones last. MINNOW_GLES_DEVICE, a part of a name, leaves only devices whose name has it.
std::vector<Found> find_devices(const Api& api);

class Machine;

/// A compiled kernel. The context takes its name along.
class GlesProgram final : public Program {
 public:
  std::string binary() const override { return stored.to_bytes(); }

  StoredShader stored;  // the driver's binary, behind the number of its format; without one the text
  unsigned id = 0;
  uint32_t words = 0;
};

class GlesMemory final : public DeviceMemory {
 public:
  GlesMemory(Machine& machine, size_t shared_bytes) : DeviceMemory(shared_bytes), machine_(machine) {}
  ~GlesMemory() override { destroy_all(); }

 private:
  bool create(Buffer& buffer, Use use) noexcept override;
  void destroy(Buffer& buffer) noexcept override;
  Machine& machine_;
};

class Machine final : public Compiler, public std::enable_shared_from_this<Machine> {
 public:
  /// Throws Unsupported, OutOfMemory.
  Machine(const Api& api, const Found& found, std::string name);
  ~Machine() override;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// While it lives the thread works in the context, and no other does. Whoever holds it asks the memory for nothing.
  class Entered {
   public:
    explicit Entered(Machine& machine) noexcept;
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Machine& machine_;
    std::lock_guard<std::mutex> lock_;
  };

  /// Throws for the errors since the last call: OutOfMemory, and for others Unsupported, with `what` the device was doing.
  void check(std::string_view what);
  std::shared_ptr<void> allocate(size_t bytes);
  /// The place of a kernel's program. `groups`: as many as launches have at most.
  Programs::Entry& entry(const std::string& source, const std::string& name, const Extent& group, const Extent& groups);
  std::unique_ptr<Program> compile(const std::string& source) override;
  std::unique_ptr<Program> load(std::span<const std::byte> binary) override;

  const Api& api;
  const std::string name;
  const Found found;
  std::atomic<bool> lost{false};
  std::unique_ptr<GlesMemory> memory;
  const Buffer* nothing = nullptr;  // a few bytes in place of empty tensors
  std::optional<Programs> programs;

 private:
  unsigned link(const std::string& text, const std::string& function);
  Handle context_ = nullptr;
  std::mutex context_mutex_;
};

}  // namespace minnow::gpu::gles

// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/gles/machine.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace minnow::gpu::gles {
namespace {

// Kernels need groups of 256 items, and shared memory for two tiles of 16 x 132 floats.
constexpr int kGroupItems = 256, kSharedBytes = 2 * 16 * 132 * 4;

Handle make_context(const Api& api, Handle display) {
  const int wanted[] = {kSurfaceType, kPbuffer, kRenderableType, kEs3, kNone};
  Handle config = nullptr;  // null: a context without one, which not every driver makes
  int count = 0;
  if (!api.eglChooseConfig(display, wanted, &config, 1, &count) || count == 0) config = nullptr;
  const int version[] = {kMajorVersion, 3, kMinorVersion, 1, kNone};
  return api.eglBindAPI(kOpenGlEs) ? api.eglCreateContext(display, config, nullptr, version) : nullptr;
}

std::string text_of(const char* text) { return text ? text : "?"; }

// Asks the context of the thread.
void look_at(const Api& api, Found& found) {
  found.name = text_of(api.glGetString(kRenderer));
  found.version = text_of(api.glGetString(kVersion));
  found.vendor = text_of(api.glGetString(kVendor));
  for (unsigned i = 0; i < 3; ++i) {
    api.glGetIntegeri_v(kMaxGroups, i, &found.max_groups[i]);
    api.glGetIntegeri_v(kMaxGroup, i, &found.max_group[i]);
  }
  api.glGetIntegerv(kMaxGroupItems, &found.max_group_items);
  api.glGetIntegerv(kMaxSharedBytes, &found.max_shared_bytes);
  api.glGetIntegerv(kMaxStorageBlocks, &found.max_buffers);
  api.glGetIntegerv(kMaxUniforms, &found.max_uniforms);
  api.glGetIntegerv(kBinaryFormats, &found.binary_formats);
  api.glGetInteger64v(kMaxStorageBytes, &found.max_buffer_bytes);
  if (text_of(api.glGetString(kGlExtensions)).find("GL_EXT_disjoint_timer_query") != std::string::npos && api.glGetQueryivEXT) {
    int bits = 0;
    api.glGetQueryivEXT(kTimestamp, kCounterBits, &bits);
    found.has_timer = bits > 0;
  }
  if (found.max_group_items < kGroupItems || found.max_group[0] < kGroupItems)
    found.problem =
        format("its groups have at most {} items, kernels need {}", std::min(found.max_group_items, found.max_group[0]), kGroupItems);
  else if (found.max_shared_bytes < kSharedBytes)
    found.problem = format("its groups share {} bytes, kernels need {}", found.max_shared_bytes, kSharedBytes);
  else if (found.max_groups[0] < 1 || found.max_groups[1] < 1 || found.max_groups[2] < 1 || found.max_buffer_bytes < 1)
    found.problem = "it does not tell its limits";
}

std::vector<Handle> displays_of(const Api& api) {
  std::vector<Handle> displays;
  const auto add = [&](Handle display) {
    if (display && std::find(displays.begin(), displays.end(), display) == displays.end()) displays.push_back(display);
  };
  if (api.eglGetPlatformDisplayEXT) {
    int count = 0;
    if (api.eglQueryDevicesEXT && api.eglQueryDevicesEXT(0, nullptr, &count) && count > 0) {
      std::vector<Handle> devices(static_cast<size_t>(count));
      api.eglQueryDevicesEXT(count, devices.data(), &count);
      for (int i = 0; i < count; ++i) add(api.eglGetPlatformDisplayEXT(kPlatformDevice, devices[static_cast<size_t>(i)], nullptr));
    }
    add(api.eglGetPlatformDisplayEXT(kPlatformSurfaceless, nullptr, nullptr));
  }
  if (displays.empty()) add(api.eglGetDisplay(nullptr));
  return displays;
}

}  // namespace

bool Found::is_processor() const {
  for (const char* word : {"llvmpipe", "softpipe", "SwiftShader"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

std::string Found::details() const {
  return format("{}, {} KiB shared memory, {} buffers of at most {} MiB", version, max_shared_bytes >> 10, max_buffers,
                max_buffer_bytes >> 20);
}

std::vector<Found> find_devices(const Api& api) {
  const char* wanted = std::getenv("MINNOW_GLES_DEVICE");
  std::vector<Found> found;
  for (const Handle display : displays_of(api)) {
    int major = 0, minor = 0;
    if (!api.eglInitialize(display, &major, &minor)) continue;
    const Handle context = make_context(api, display);
    if (!context) continue;
    if (api.eglMakeCurrent(display, nullptr, nullptr, context)) {
      Found one;
      one.display = display;
      look_at(api, one);
      api.eglMakeCurrent(display, nullptr, nullptr, nullptr);
      const bool known = std::any_of(found.begin(), found.end(), [&](const Found& other) { return other.name == one.name; });
      if (!known && (!wanted || one.name.find(wanted) != std::string::npos)) found.push_back(std::move(one));
    }
    api.eglDestroyContext(display, context);
  }
  const auto rank = [](const Found& one) { return !one.problem.empty() ? 2 : one.is_processor() ? 1 : 0; };
  std::stable_sort(found.begin(), found.end(), [&](const Found& a, const Found& b) { return rank(a) < rank(b); });
  return found;
}

Machine::Entered::Entered(Machine& machine) noexcept : machine_(machine), lock_(machine.context_mutex_) {
  machine_.api.eglBindAPI(kOpenGlEs);
  if (!machine_.api.eglMakeCurrent(machine_.found.display, nullptr, nullptr, machine_.context_) &&
      machine_.api.eglGetError() == kContextLost)
    machine_.lost.store(true, std::memory_order_release);
}

// The context belongs to no thread in between, because a session may go from one to another.
Machine::Entered::~Entered() { machine_.api.eglMakeCurrent(machine_.found.display, nullptr, nullptr, nullptr); }

Machine::Machine(const Api& api, const Found& found, std::string name) : api(api), name(std::move(name)), found(found) {
  context_ = make_context(api, found.display);
  if (!context_) throw Unsupported("OpenGL ES: {} gives no context: error {}", this->name, api.eglGetError());
  // Small weights share buffers of this size.
  const size_t shared = static_cast<size_t>(std::min<int64_t>(16 << 20, found.max_buffer_bytes)) / 256 * 256;
  memory = std::make_unique<GlesMemory>(*this, shared);
  const uintptr_t address = memory->allocate(1, DeviceMemory::Use::device);
  if (!address) throw out_of_memory("OpenGL ES: {} has no memory left", this->name);
  nothing = memory->find(reinterpret_cast<const void*>(address));
  programs.emplace(
      *this, format("gles {}, {}, {}, shared {}, {}", found.vendor, found.name, found.version, found.max_shared_bytes, shader_revision()));
}

Machine::~Machine() {
  memory.reset();
  if (context_) api.eglDestroyContext(found.display, context_);
}

void Machine::check(std::string_view what) {
  unsigned first = 0;
  for (int i = 0; i < 16; ++i) {
    const unsigned error = api.glGetError();
    if (error == 0) break;
    if (first == 0 || error == kGlContextLost) first = error;
    if (error == kGlContextLost) break;
  }
  if (first == kGlContextLost) lost.store(true, std::memory_order_release);
  if (lost.load(std::memory_order_acquire)) throw Unsupported("OpenGL ES: {} was lost, {}; new sessions open it again", name, what);
  if (first == 0) return;
  if (first == kOutOfMemory) throw out_of_memory("OpenGL ES: {} is out of memory, {}", name, what);
  throw Unsupported("OpenGL ES: {} failed, {}: error {}", name, what, first);
}

std::shared_ptr<void> Machine::allocate(size_t bytes) {
  const uintptr_t address = memory->allocate(bytes, DeviceMemory::Use::device);
  if (!address) throw out_of_memory("OpenGL ES: {} has no {} bytes left", name, bytes);
  return {reinterpret_cast<void*>(address),
          [self = shared_from_this(), bytes](void* at) { self->memory->release(reinterpret_cast<uintptr_t>(at), bytes); }};
}

bool GlesMemory::create(Buffer& buffer, Use) noexcept {
  if (buffer.bytes > size_t{1} << 40) return false;
  const Machine::Entered entered(machine_);
  const Api& api = machine_.api;
  unsigned made = 0;
  api.glGenBuffers(1, &made);
  api.glBindBuffer(kCopyWrite, made);
  while (api.glGetError() != 0 && !machine_.lost.load(std::memory_order_relaxed)) {}
  api.glBufferData(kCopyWrite, static_cast<intptr_t>(buffer.bytes), nullptr, kDynamicCopy);
  const unsigned error = api.glGetError();
  api.glBindBuffer(kCopyWrite, 0);
  if (error != 0 || made == 0) {
    api.glDeleteBuffers(1, &made);
    return false;
  }
  buffer.object = made;
  return true;
}

void GlesMemory::destroy(Buffer& buffer) noexcept {
  const Machine::Entered entered(machine_);
  const unsigned made = static_cast<unsigned>(buffer.object);
  machine_.api.glDeleteBuffers(1, &made);
}

// In the context.
unsigned Machine::link(const std::string& text, const std::string& function) {
  char log[2048] = {};
  const auto fail = [&](std::string_view what) { throw_not_compiled(format("OpenGL ES: {}, {} {},", name, what, function), log, text); };
  const unsigned shader = api.glCreateShader(kComputeShader);
  const char* const source = text.c_str();
  api.glShaderSource(shader, 1, &source, nullptr);
  api.glCompileShader(shader);
  int good = 0;
  api.glGetShaderiv(shader, kCompileStatus, &good);
  if (!good) {
    api.glGetShaderInfoLog(shader, sizeof log, nullptr, log);
    api.glDeleteShader(shader);
    fail("compiling");
  }
  const unsigned program = api.glCreateProgram();
  if (found.binary_formats > 0) api.glProgramParameteri(program, kBinaryHint, 1);
  api.glAttachShader(program, shader);
  api.glLinkProgram(program);
  api.glDeleteShader(shader);
  api.glGetProgramiv(program, kLinkStatus, &good);
  if (!good) {
    api.glGetProgramInfoLog(program, sizeof log, nullptr, log);
    api.glDeleteProgram(program);
    fail("linking");
  }
  check("compiling a kernel");
  return program;
}

Programs::Entry& Machine::entry(const std::string& source, const std::string& function, const Extent& group, const Extent& groups) {
  ShaderSource wanted{function, group, false, source};
  for (size_t i = 0; i < 3; ++i) wanted.group_offsets = wanted.group_offsets || groups[i] > static_cast<uint32_t>(found.max_groups[i]);
  return programs->entry(wanted.to_source());
}

std::unique_ptr<Program> Machine::compile(const std::string& source) {
  const ShaderSource given = ShaderSource::of(source);
  ShaderOptions options;
  options.group = given.group;
  options.shared_bytes = static_cast<size_t>(found.max_shared_bytes);
  options.group_offsets = given.group_offsets;
  GlslShader shader = compile_to_glsl_es(given.text, given.function, options);
  auto made = std::make_unique<GlesProgram>();
  made->stored.offsets = options.group_offsets;
  made->stored.interface = std::move(static_cast<ShaderInterface&>(shader));
  made->words = made->stored.words();
  if (const auto buffers = static_cast<int>(made->stored.buffers()); buffers > found.max_buffers)
    throw Unsupported("OpenGL ES: the kernel {} has {} buffers, {} takes {}", given.function, buffers, name, found.max_buffers);
  const Entered entered(*this);
  made->id = link(shader.text, given.function);
  int bytes = 0;
  if (found.binary_formats > 0) api.glGetProgramiv(made->id, kBinaryLength, &bytes);
  if (bytes <= 0) {
    made->stored.code = std::move(shader.text);
    return made;
  }
  unsigned format = 0;
  std::string& data = made->stored.data;
  data.resize(sizeof format + static_cast<size_t>(bytes));
  api.glGetProgramBinary(made->id, bytes, &bytes, &format, data.data() + sizeof format);
  std::memcpy(data.data(), &format, sizeof format);
  data.resize(sizeof format + static_cast<size_t>(bytes));
  check("reading a kernel");
  return made;
}

std::unique_ptr<Program> Machine::load(std::span<const std::byte> binary) {
  auto made = std::make_unique<GlesProgram>();
  StoredShader& stored = made->stored;
  if (!stored.read(binary)) return nullptr;
  made->words = stored.words();
  const Entered entered(*this);
  if (unsigned format = 0; stored.data.size() > sizeof format) {
    std::memcpy(&format, stored.data.data(), sizeof format);
    made->id = api.glCreateProgram();
    api.glProgramBinary(made->id, format, stored.data.data() + sizeof format, static_cast<int>(stored.data.size() - sizeof format));
    int good = 0;
    api.glGetProgramiv(made->id, kLinkStatus, &good);
    if (api.glGetError() != 0 || !good) {
      api.glDeleteProgram(made->id);
      return nullptr;
    }
  } else {
    made->id = link(stored.code, "of a file");
  }
  return made;
}

}  // namespace minnow::gpu::gles

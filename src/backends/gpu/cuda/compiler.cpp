// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/cuda/compiler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/gpu/cuda/api.h"
#include "backends/gpu/dialect.h"
#include "backends/gpu/programs.h"

namespace minnow::gpu::cuda {
namespace {

// wgmma is there in code of 9.0 alone, not of later ones.
bool is_of_one_capability(int capability) { return capability == 90; }

std::string architecture_of(int capability, bool ahead) {
  return format("{}_{}{}", ahead ? "compute" : "sm", capability, is_of_one_capability(capability) ? "a" : "");
}

// Each kernel waits at its beginning for the results of the kernel before it.
std::string waiting(const std::string& source) {
  std::string text;
  for (size_t from = 0;;) {
    const size_t kernel = std::min(source.find("KERNEL(", from), source.find("__global__", from));
    const size_t body = kernel == std::string::npos ? kernel : source.find('{', kernel);
    if (body == std::string::npos) return text + source.substr(from);
    text += source.substr(from, body + 1 - from) + " asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");";
    from = body + 1;
  }
}

// The piece of a file that says that plans for this capability have their kernels there.
std::string mark_of(int capability) { return format("cuda, compiled ahead for {}", capability); }

// 80 for "8.0".
int capability_in(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const size_t dot = text.find('.');
  int capability = 0;
  for (const char c : text)
    if (is_digit(c)) capability = 10 * capability + (c - '0');
  if (dot == 0 || dot > 2 || text.size() != dot + 2 || static_cast<size_t>(std::count_if(text.begin(), text.end(), is_digit)) != dot + 1)
    throw InvalidArgument("the backend \"cuda:{}\" has no compute capability behind the colon, as in cuda:8.0", text);
  return capability;
}

class TextProgram final : public Program {
 public:
  explicit TextProgram(std::string code) : code_(std::move(code)) {}
  std::string binary() const override { return code_; }

 private:
  std::string code_;
};

class CompilerAhead final : public Compiler {
 public:
  explicit CompilerAhead(int capability) : capability_(capability) {}
  std::unique_ptr<Program> compile(const std::string& source) override {
    return std::make_unique<TextProgram>(compiled(source, capability_, true));
  }
  std::unique_ptr<Program> load(std::span<const std::byte> binary) override {
    return std::make_unique<TextProgram>(std::string(reinterpret_cast<const char*>(binary.data()), binary.size()));
  }

 private:
  int capability_;
};

// Collects the sources that plans ask for. Memory of such a device has addresses, and contents of zeros. Launches of a run fail.
class QueueAhead final : public Queue {
 public:
  explicit QueueAhead(const BackendOptions& options)
      : figures_(figures_ahead(capability_in(options.isa))),
        name_("cuda:" + options.isa),
        device_(described(name_, figures_, options.precision)),
        file_(open_kernel_cache(options.kernel_cache)),
        compiler_(figures_.capability),
        programs_(compiler_, target_of(figures_.capability, true)),
        threads_(std::max(1, options.threads)) {
    if (!file_) throw InvalidArgument("the backend {} compiles kernels into a file; name it as the kernel cache", name_);
  }
  const Device& device() const override { return device_; }
  int tensor_cores() const override { return tensor_cores_of(figures_.capability); }
  std::shared_ptr<void> allocate(size_t) override { return allocate_shared(1); }
  void copy_from_host(void*, const void*, size_t) override {}
  void copy_to_host(void* to, const void*, size_t bytes) override { std::memset(to, 0, bytes); }
  std::unique_ptr<Function> function(const std::string& source, const std::string&, size_t, const Extent&, const Extent&) override {
    wanted_.push_back(&programs_.entry(source));
    return std::make_unique<Function>();
  }
  void compile() override {
    programs_.make(std::exchange(wanted_, {}), file_.get(), threads_);
    if (const std::string mark = mark_of(figures_.capability); !file_->has(mark)) {
      static constexpr char kNothing = 0;
      file_->add(mark, {std::shared_ptr<void>(), &kNothing}, sizeof kNothing);
      file_->save();
    }
  }
  bool launch(Function&, const Extent&, const Extent&, std::span<const Argument>) noexcept override { return false; }
  void finish() override {}
  bool can_record() const override { return true; }
  void begin_recording() override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw Unsupported("the backend {} compiles the kernels of plans into {} and runs nothing", name_, file_->file());
  }
  const Figures figures_;
  const std::string name_;
  const Device device_;
  const std::unique_ptr<EntryFile> file_;
  CompilerAhead compiler_;
  Programs programs_;
  const int threads_;
  std::vector<Programs::Entry*> wanted_;
};

}  // namespace

std::string target_of(int capability, bool ahead) {
  return format("cuda {}{}, prefix {}", architecture_of(capability, ahead), waits(capability) ? ", waiting" : "",
                digest_text(std::string(kCudaPrefix) + std::string(kCommonPrefix)));
}

std::string compiled(const std::string& source, int capability, bool ahead) {
  std::string problem;
  const CompilerApi* const compiler = load_compiler(problem);
  if (!compiler) throw Unsupported("the backend cuda cannot compile a kernel: {}", problem);
  const CompilerApi& api = *compiler;
  const std::string text = std::string(kCudaPrefix) + std::string(kCommonPrefix) + (waits(capability) ? waiting(source) : source);
  Handle program = nullptr;
  if (api.nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
    throw InternalError("NVRTC did not take a program");
  const std::string architecture = "--gpu-architecture=" + architecture_of(capability, ahead);
  const char* options[] = {architecture.c_str(), "--std=c++14", "--device-as-default-execution-space"};
  if (api.nvrtcCompileProgram(program, 3, options) != 0) {
    size_t bytes = 0;
    api.nvrtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, '\0');
    api.nvrtcGetProgramLog(program, log.data());
    api.nvrtcDestroyProgram(&program);
    throw_not_compiled("CUDA: NVRTC", log, source);
  }
  size_t bytes = 0;
  (ahead ? api.nvrtcGetPTXSize : api.nvrtcGetCUBINSize)(program, &bytes);
  std::string code(bytes, '\0');  // that of PTX has a zero at its end, as the driver wants it
  (ahead ? api.nvrtcGetPTX : api.nvrtcGetCUBIN)(program, code.data());
  api.nvrtcDestroyProgram(&program);
  return code;
}

Figures figures_ahead(int capability) {
  return {capability, 132, 1'785'000, 2'619'000, 5120, true};  // an H100's
}

Device described(std::string name, const Figures& figures, Precision precision) {
  Device device;
  device.name = std::move(name);
  device.precision = precision;
  device.flops = figures.multiprocessors * figures.clock * 1e3 * 256;
  const double bandwidth = 2.0 * figures.memory_clock * 1e3 * figures.bus_width / 8;
  device.l1_bandwidth = device.l2_bandwidth = device.l3_bandwidth = device.memory_bandwidth = bandwidth;
  if (tensor_cores_of(figures.capability) > 0) {
    device.pack = 8;
    if (precision == Precision::low) device.packed_f32 = DType::f16;
  }
  if (figures.capability == 90 && figures.encodes_boxes) device.wgmma_units = figures.multiprocessors;
  device.transfer_latency = 1e-5;
  device.transfer_bandwidth = 10e9;
  return device;
}

std::unique_ptr<Queue> make_queue_ahead(const BackendOptions& options) { return std::make_unique<QueueAhead>(options); }

int capability_ahead(EntryFile* file, int capability) {
  for (int from = file ? capability : 0; from >= 50; --from)
    if ((from == capability || !is_of_one_capability(from)) && file->has(mark_of(from))) return from;
  return 0;
}

EntryFile* library_kernels() {
  static EntryFile* const file =
      kernel_cache_in_memory(embedded_kernels(), "the kernels that MINNOW_CUDA_KERNELS put into the library").release();
  return file;
}

}  // namespace minnow::gpu::cuda

// SPDX-License-Identifier: Apache-2.0
#include "conformance/library.h"

#include <cerrno>
#include <csignal>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "graph/model_file.h"

namespace minnow::test {

LibraryProcess::LibraryProcess(const std::string& command) {
  std::istringstream stream(command);
  for (std::string word; stream >> word;) words_.push_back(word);
  if (words_.empty()) throw InvalidArgument("the command of the library's program is empty");
  std::signal(SIGPIPE, SIG_IGN);  // writing to a process that died is an error
}

LibraryProcess::~LibraryProcess() { stop(); }

void LibraryProcess::start() {
  int there[2], back[2];
  if (pipe(there) || pipe(back)) throw IoError("no pipe to {}", words_[0]);
  std::vector<char*> arguments;
  for (std::string& word : words_) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    dup2(there[0], STDIN_FILENO);
    dup2(back[1], STDOUT_FILENO);
    for (int end : {there[0], there[1], back[0], back[1]}) close(end);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(there[0]), close(back[1]);
  to_ = there[1], from_ = back[0];
}

void LibraryProcess::stop() noexcept {
  if (process_ <= 0) return;
  close(to_), close(from_);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

std::string LibraryProcess::died() {
  close(to_), close(from_);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = 0;
  return WIFSIGNALED(status) ? format("the library's process died of signal {}", WTERMSIG(status))
                             : format("the library's process ended with status {}", WEXITSTATUS(status));
}

void LibraryProcess::give(const void* from, size_t bytes) {
  for (const char* next = static_cast<const char*>(from); bytes;) {
    const ssize_t written = write(to_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw InternalError("{}", died());
    next += written, bytes -= static_cast<size_t>(written);
  }
}

void LibraryProcess::take(void* to, size_t bytes) {
  for (char* next = static_cast<char*>(to); bytes;) {
    const ssize_t got = read(from_, next, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw InternalError("{}", died());
    next += got, bytes -= static_cast<size_t>(got);
  }
}

uint64_t LibraryProcess::take_size() {
  uint64_t size = 0;
  take(&size, sizeof size);
  return size;
}

std::string LibraryProcess::take_answer() {
  int32_t status = 0;
  take(&status, sizeof status);
  if (!status) return {};
  std::string text(take_size(), ' ');
  take(text.data(), text.size());
  return text.empty() ? "an error without a sentence" : text;
}

Run LibraryProcess::load(const Graph& graph) {
  std::vector<std::byte> bytes;
  write_model_to(graph, [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
  if (process_ <= 0) start();
  const char request = 'L';
  const uint64_t size = bytes.size();
  give(&request, 1);
  give(&size, sizeof size);
  give(bytes.data(), bytes.size());
  if (const std::string text = take_answer(); !text.empty()) {
    if (text.find("there is no operator") != std::string::npos || text.find("the C API") != std::string::npos) throw NotOffered(text);
    throw Unsupported("{}", text);
  }
  return [this](std::span<const Datum> inputs) { return run(inputs); };
}

std::vector<Datum> LibraryProcess::run(std::span<const Datum> inputs) {
  for (const Datum& input : inputs)
    if (input.kind == Datum::Kind::sequence) throw NotOffered("the C API has no sequences");
  const char request = 'R';
  const uint64_t count = inputs.size();
  give(&request, 1);
  give(&count, sizeof count);
  for (const Datum& input : inputs) {
    const Tensor& tensor = input.tensor;
    const int32_t dtype = static_cast<int32_t>(tensor.dtype()), rank = static_cast<int32_t>(tensor.shape().rank());
    const uint64_t bytes = tensor.dtype() == DType::undefined ? 0 : tensor.bytes();
    give(&dtype, sizeof dtype);
    give(&rank, sizeof rank);
    give(tensor.shape().begin(), tensor.shape().rank() * sizeof(int64_t));
    give(&bytes, sizeof bytes);
    give(tensor.data(), bytes);
  }
  if (const std::string text = take_answer(); !text.empty()) {
    if (text.find("there is no operator") != std::string::npos) throw NotOffered(text);
    throw Unsupported("{}", text);
  }
  std::vector<Datum> outputs(take_size());
  for (Datum& output : outputs) {
    int32_t dtype = 0, rank = 0;
    take(&dtype, sizeof dtype);
    take(&rank, sizeof rank);
    Shape shape = Shape::filled(static_cast<size_t>(rank), 0);
    take(shape.begin(), shape.rank() * sizeof(int64_t));
    const uint64_t bytes = take_size();
    if (dtype == 0) continue;  // absent
    Tensor tensor(static_cast<DType>(dtype), shape);
    if (bytes != tensor.bytes()) throw InternalError("an output of {} bytes has {}", tensor.bytes(), bytes);
    take(tensor.writable().data(), bytes);
    output = Datum(std::move(tensor));
  }
  return outputs;
}

}  // namespace minnow::test

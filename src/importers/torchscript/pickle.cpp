// SPDX-License-Identifier: Apache-2.0
#include "importers/torchscript/pickle.h"

#include <bit>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "base/limits.h"

namespace minnow::torchscript {
namespace {

constexpr size_t kMostObjects = 4'000'000;
// A tensor whose strides repeat elements may be larger than its storage, within reason.
constexpr uint64_t kMostRepeated = uint64_t{64} << 20;

// Opcodes, by the letters of the format's definition.
constexpr uint8_t kProto = 0x80, kStop = '.', kMark = '(', kPop = '0';
constexpr uint8_t kPut = 'q', kLongPut = 'r', kGet = 'h', kLongGet = 'j', kPersistent = 'Q';
constexpr uint8_t kNone = 'N', kTrue = 0x88, kFalse = 0x89, kInt = 'J', kByte = 'K', kTwoBytes = 'M', kLong1 = 0x8a, kFloat = 'G';
constexpr uint8_t kUnicode = 'X', kString = 'T', kShortString = 'U';
constexpr uint8_t kEmptyTuple = ')', kTuple = 't', kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87;
constexpr uint8_t kEmptyList = ']', kList = 'l', kAppend = 'a', kAppends = 'e';
constexpr uint8_t kEmptyDict = '}', kDict = 'd', kSetItem = 's', kSetItems = 'u';
constexpr uint8_t kGlobal = 'c', kReduce = 'R', kBuild = 'b', kNewObject = 0x81;

struct StorageType {
  std::string_view name;
  DType dtype;
  uint8_t bytes;
};
constexpr StorageType kStorages[] = {
    {"FloatStorage", DType::f32, 4},
    {"DoubleStorage", DType::f64, 8},
    {"HalfStorage", DType::f16, 2},
    {"BFloat16Storage", DType::bf16, 2},
    {"LongStorage", DType::i64, 8},
    {"IntStorage", DType::i32, 4},
    {"ShortStorage", DType::i16, 2},
    {"CharStorage", DType::i8, 1},
    {"ByteStorage", DType::u8, 1},
    {"BoolStorage", DType::boolean, 1},
    {"QUInt8Storage", DType::u8, 1},
    {"QInt8Storage", DType::i8, 1},
    {"QInt32Storage", DType::i32, 4},
    {"ComplexFloatStorage", DType::undefined, 8},
    {"ComplexDoubleStorage", DType::undefined, 16},
};

struct StorageObject final : Object {
  const StorageType* type = nullptr;
  SharedBytes bytes;
  std::shared_ptr<Object> copy() const override { return std::make_shared<StorageObject>(*this); }
  void assign(const Object& other) override { *this = static_cast<const StorageObject&>(other); }
};

class Unpickler {
 public:
  Unpickler(Archive& archive, const std::string& folder, ObjectStore& store)
      : archive_(archive), folder_(folder), store_(store), bytes_(archive.read(folder + ".pkl")) {}
  Item run();

 private:
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    throw InvalidModel("{}: {}.pkl: byte {}: {}", archive_.source(), folder_, at_, format(pattern, args...));
  }
  template <class T>
  T number() {
    T value;
    if (bytes_.size() - at_ < sizeof value) fail("the pickle is cut off");
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text(size_t size) {
    if (bytes_.size() - at_ < size) fail("the pickle is cut off");
    std::string made(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return made;
  }
  std::string line() {
    std::string made;
    for (;;) {
      const char c = static_cast<char>(number<uint8_t>());
      if (c == '\n') return made;
      made += c;
    }
  }
  void push(Item item) {
    if (item.object() && store_.size() > kMostObjects) fail("the pickle has more than {} objects", kMostObjects);
    stack_.push_back(std::move(item));
  }
  void push_new(const Item& item) { push(store_.keep(item)); }
  Item pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("the pickle takes more than it has");
    Item item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }
  Item& top() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("the pickle takes more than it has");
    return stack_.back();
  }
  Items pop_mark() {
    if (marks_.empty()) fail("the pickle takes more than it has");
    Items items(std::make_move_iterator(stack_.begin() + static_cast<ptrdiff_t>(marks_.back())), std::make_move_iterator(stack_.end()));
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  Items pop_some(size_t count) {
    Items items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  void append(Items items) {
    if (!top().is(Item::Kind::list)) fail("something is appended to {}", describe(top()));
    ListObject& list = top().as_list();
    list.items.insert(list.items.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  }
  void set(Items items) {
    if (items.size() % 2 != 0) fail("a key has no value");
    if (!top().is(Item::Kind::dict)) fail("a key is set in {}", describe(top()));
    DictObject& dict = top().as_dict();
    for (size_t i = 0; i < items.size(); i += 2) dict.items.emplace_back(std::move(items[i]), std::move(items[i + 1]));
  }
  void build();
  void reduce();
  void persistent();
  Item tensor(const Items& arguments, bool quantized);
  std::shared_ptr<const Quantization> quantization(const Item& item);
  const Items& tuple_of(const Item& item, size_t least) const {
    if (!item.is(Item::Kind::tuple) || item.as_tuple().items.size() < least) fail("a tuple of {} is expected", least);
    return item.as_tuple().items;
  }
  int64_t integer_of(const Item& item) const {
    if (!item.is(Item::Kind::integer)) fail("an integer is expected, {} stands there", describe(item));
    return item.integer();
  }
  Ints integers_of(const Item& item) const {
    Ints made;
    if (item.is(Item::Kind::tuple))
      for (const Item& one : item.as_tuple().items) made.push_back(integer_of(one));
    else
      fail("a tuple is expected, {} stands there", describe(item));
    return made;
  }

  Archive& archive_;
  std::string folder_;
  ObjectStore& store_;
  SharedBytes bytes_;
  size_t at_ = 0;
  uint64_t copied_ = 0;  // bytes of tensors that could not be used in place
  Items stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Item> memo_;
};

Item Unpickler::run() {
  for (;;) {
    const uint8_t opcode = number<uint8_t>();
    switch (opcode) {
      case kProto:
        number<uint8_t>();
        break;
      case kStop: {
        Item result = pop();
        if (!stack_.empty() || !marks_.empty()) fail("the pickle ends with something left");
        return result;
      }
      case kMark:
        marks_.push_back(stack_.size());
        break;
      case kPop:
        pop();
        break;
      case kNone:
        push({});
        break;
      case kTrue:
      case kFalse:
        push(Item::boolean(opcode == kTrue));
        break;
      case kInt:
        push(Item::integer(number<int32_t>()));
        break;
      case kByte:
        push(Item::integer(number<uint8_t>()));
        break;
      case kTwoBytes:
        push(Item::integer(number<uint16_t>()));
        break;
      case kLong1: {
        const size_t size = number<uint8_t>();
        if (size > 8) fail("an integer has {} bytes, more than 8", size);
        uint64_t value = 0;
        for (size_t i = 0; i < size; ++i) value |= uint64_t{number<uint8_t>()} << (8 * i);
        if (size > 0 && size < 8 && ((value >> (8 * size - 1)) & 1)) value |= ~uint64_t{0} << (8 * size);
        push(Item::integer(static_cast<int64_t>(value)));
        break;
      }
      case kFloat: {  // the one number with its highest byte first
        uint64_t bits = 0;
        for (int i = 0; i < 8; ++i) bits = (bits << 8) | number<uint8_t>();
        push(Item::real(std::bit_cast<double>(bits)));
        break;
      }
      case kUnicode:
      case kString:
        push(Item::text(text(number<uint32_t>())));
        break;
      case kShortString:
        push(Item::text(text(number<uint8_t>())));
        break;
      case kGlobal: {
        const std::string module = line(), name = line();
        push(Item::class_name(module + "." + name));
        break;
      }
      case kEmptyTuple:
        push_new(Item::tuple({}));
        break;
      case kTuple:
        push_new(Item::tuple(pop_mark()));
        break;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        push_new(Item::tuple(pop_some(opcode - kTuple1 + size_t{1})));
        break;
      case kEmptyList:
        push_new(Item::list());
        break;
      case kList:
        push_new(Item::list(pop_mark()));
        break;
      case kAppend:
        append(pop_some(1));
        break;
      case kAppends:
        append(pop_mark());
        break;
      case kEmptyDict:
        push_new(Item::object(Item::Kind::dict, std::make_shared<DictObject>()));
        break;
      case kDict: {
        Items items = pop_mark();
        push_new(Item::object(Item::Kind::dict, std::make_shared<DictObject>()));
        set(std::move(items));
        break;
      }
      case kSetItem:
        set(pop_some(2));
        break;
      case kSetItems:
        set(pop_mark());
        break;
      case kPut:
        memo_[number<uint8_t>()] = top();
        break;
      case kLongPut:
        memo_[number<uint32_t>()] = top();
        break;
      case kGet:
      case kLongGet: {
        const auto found = memo_.find(opcode == kGet ? number<uint8_t>() : number<uint32_t>());
        if (found == memo_.end()) fail("something is used that was not kept");
        push(found->second);
        break;
      }
      case kNewObject: {
        pop();
        const Item name = pop();
        if (!name.is(Item::Kind::class_name) || !name.text().starts_with("__torch__")) fail("an object of {} is made", describe(name));
        auto made = std::make_shared<InstanceObject>();
        made->class_name = name.text();
        push_new(Item::object(Item::Kind::instance, std::move(made)));
        break;
      }
      case kBuild:
        build();
        break;
      case kReduce:
        reduce();
        break;
      case kPersistent:
        persistent();
        break;
      default:
        fail("the pickle has an opcode of code {}, which TorchScript does not use", int{opcode});
    }
  }
}

void Unpickler::build() {
  const Item state = pop();
  if (!top().is(Item::Kind::instance)) fail("{} is given a state", describe(top()));
  InstanceObject& instance = top().as_instance();
  if (state.is(Item::Kind::dict) && !instance.class_name.starts_with("__torch__.torch.classes.")) {
    std::unordered_map<std::string_view, size_t> places;  // linear, however many attributes
    for (const auto& [key, item] : state.as_dict().items) {
      if (!key.is(Item::Kind::text)) fail("an attribute's name is {}", describe(key));
      const auto [place, is_new] = places.emplace(key.text(), instance.attributes.size());
      if (is_new)
        instance.attributes.emplace_back(key.text(), item);
      else
        instance.attributes[place->second].second = item;
    }
  }
  instance.state = state;
  instance.has_state = true;
}

void Unpickler::persistent() {
  const Item id = pop();
  const Items& parts = tuple_of(id, 5);
  if (!parts[0].is(Item::Kind::text) || parts[0].text() != "storage" || !parts[1].is(Item::Kind::class_name) ||
      !parts[2].is(Item::Kind::text))
    fail("something is referred to that is no storage");
  auto made = std::make_shared<StorageObject>();
  const std::string& name = parts[1].text();
  for (const StorageType& type : kStorages)
    if (name == "torch." + std::string(type.name)) made->type = &type;
  if (!made->type) fail("a storage is a {}", name.substr(0, 100));
  const int64_t count = integer_of(parts[4]);
  if (count != 0) made->bytes = archive_.read(folder_ + "/" + parts[2].text());
  if (count < 0 || made->bytes.size() / made->type->bytes < static_cast<uint64_t>(count))
    fail("storage \"{}\" should have {} elements, it has {} bytes", parts[2].text().substr(0, 100), count, made->bytes.size());
  push_new(Item::object(Item::Kind::uninitialized, std::move(made)));
}

std::shared_ptr<const Quantization> Unpickler::quantization(const Item& item) {
  const Items& parts = tuple_of(item, 3);
  auto made = std::make_shared<Quantization>();
  if (!parts[0].is(Item::Kind::class_name)) fail("a quantization has no kind");
  const std::string& kind = parts[0].text();
  if (kind == "torch.per_tensor_affine") {
    if (!parts[1].is_number()) fail("a scale is {}", describe(parts[1]));
    made->scale = parts[1].real();
    made->zero = integer_of(parts[2]);
  } else if (kind.starts_with("torch.per_channel_affine") && parts.size() >= 4 && parts[1].is(Item::Kind::tensor) &&
             parts[2].is(Item::Kind::tensor)) {
    const Tensor &scales = parts[1].as_tensor().literal, &zeros = parts[2].as_tensor().literal;
    if ((scales.dtype() != DType::f64 && scales.dtype() != DType::f32) || scales.elements() != zeros.elements() || scales.elements() == 0)
      fail("scales and zero points of a tensor do not fit");
    for (int64_t i = 0; i < scales.elements(); ++i) {
      made->scales.push_back(scales.dtype() == DType::f64 ? scales.data<double>()[i] : static_cast<double>(scales.data<float>()[i]));
      made->zeros.push_back(zeros.dtype() == DType::i64 ? zeros.data<int64_t>()[i] : 0);
    }
    made->axis = integer_of(parts[3]);
  } else {
    fail("a tensor is quantized as {}", kind.substr(0, 100));
  }
  return made;
}

Item Unpickler::tensor(const Items& arguments, bool quantized) {
  if (arguments.size() < 4) fail("a tensor is made of {} parts", arguments.size());
  if (!arguments[0].is(Item::Kind::uninitialized) || !arguments[0].object()) fail("a tensor has no storage");
  const StorageObject& storage = static_cast<const StorageObject&>(*arguments[0].object());
  const int64_t offset = integer_of(arguments[1]);
  const Ints sizes = integers_of(arguments[2]), strides = integers_of(arguments[3]);
  if (sizes.size() != strides.size() || sizes.size() > kMaxRank) fail("a tensor has {} sizes and {} strides", sizes.size(), strides.size());
  auto made = std::make_shared<TensorObject>();
  const uint64_t item = storage.type->bytes, held = storage.bytes.size() / item;
  // All checks count elements and compare them with the storage.
  uint64_t elements = 1, last = 0;
  bool in_order = true, is_empty = false;
  for (int64_t size : sizes) is_empty = is_empty || size == 0;
  for (size_t i = sizes.size(); i-- > 0;) {
    const int64_t size = sizes[i], stride = strides[i];
    if (size < 0 || stride < 0) fail("a tensor has the sizes {} and the strides {}", sizes, strides);
    if (is_empty) continue;
    if (size > 1 && static_cast<uint64_t>(stride) != elements) in_order = false;
    if (static_cast<uint64_t>(size) > uint64_t{kMostElements} / elements) fail("a tensor has the sizes {}", sizes);
    elements *= static_cast<uint64_t>(size);
    if (size > 1) {
      if (static_cast<uint64_t>(stride) > held) fail("a tensor reaches beyond its storage");
      last += static_cast<uint64_t>(size - 1) * static_cast<uint64_t>(stride);
      if (last > held) fail("a tensor reaches beyond its storage");
    }
  }
  if (is_empty) elements = 0;
  if (offset < 0 || static_cast<uint64_t>(offset) > held || (elements > 0 && last >= held - static_cast<uint64_t>(offset)))
    fail("a tensor reaches beyond its storage");
  if (elements * item > std::max<uint64_t>(2 * storage.bytes.size(), kMostRepeated)) fail("a tensor repeats its storage very often");
  if (quantized && arguments.size() > 4) made->quantization = quantization(arguments[4]);
  if (!quantized && arguments.size() > 6 && arguments[6].is(Item::Kind::dict) && !arguments[6].as_dict().items.empty())
    fail("a tensor is conjugated or negated, which is not supported");
  if (storage.type->dtype != DType::undefined) {
    const Shape shape(sizes);
    const uint64_t begin = static_cast<uint64_t>(offset) * item;
    const SharedBytes bytes = storage.bytes.part(begin, storage.bytes.size() - begin);
    if (elements > 0 && in_order && bytes.can_share(storage.type->dtype) && storage.type->dtype != DType::boolean) {
      made->literal = bytes.tensor(storage.type->dtype, shape);
    } else {
      copied_ += elements * item;
      if (copied_ > 4 * archive_.bytes() + kMostRepeated) fail("tensors repeat their storages very often");
      made->literal = Tensor(storage.type->dtype, shape);
      std::byte* out = static_cast<std::byte*>(made->literal.writable().data());
      Ints place(sizes.size());
      uint64_t source = 0;
      for (uint64_t i = 0; i < elements; ++i) {
        std::memcpy(out + i * item, bytes.data() + source * item, item);
        for (size_t axis = sizes.size(); axis-- > 0;) {
          source += static_cast<uint64_t>(strides[axis]);
          if (++place[axis] < sizes[axis]) break;
          source -= static_cast<uint64_t>(strides[axis]) * static_cast<uint64_t>(sizes[axis]);
          place[axis] = 0;
        }
      }
      if (storage.type->dtype == DType::boolean)  // a byte that is neither 0 nor 1 would be no bool
        for (uint64_t i = 0; i < elements; ++i) out[i] = out[i] != std::byte{0} ? std::byte{1} : std::byte{0};
    }
  }
  return Item::tensor(std::move(made));
}

void Unpickler::reduce() {
  const Item arguments = pop(), function = pop();
  if (!function.is(Item::Kind::class_name)) fail("{} is called", describe(function));
  const std::string& name = function.text();
  const Items& parts = tuple_of(arguments, 0);
  if (name == "torch._utils._rebuild_tensor_v2" || name == "torch._utils._rebuild_tensor") return push_new(tensor(parts, false));
  if (name == "torch._utils._rebuild_qtensor") return push_new(tensor(parts, true));
  if (name == "torch._utils._rebuild_parameter" && !parts.empty()) return push(parts[0]);
  if (name == "collections.OrderedDict") return push_new(Item::object(Item::Kind::dict, std::make_shared<DictObject>()));
  if ((name.starts_with("torch.jit._pickle.build_") || name == "torch.jit._pickle.restore_type_tag") && !parts.empty())
    return push(parts[0]);
  if (name == "torch.device" && !parts.empty()) return push(parts[0]);
  if (name == "builtins.complex") return push(Item::of_kind(Item::Kind::refused));
  if (name.starts_with("__torch__") && parts.size() == 1) {  // an enum's member
    auto made = std::make_shared<InstanceObject>();
    made->class_name = name;
    made->attributes.emplace_back("value", parts[0]);
    return push_new(Item::object(Item::Kind::instance, std::move(made)));
  }
  fail("\"{}\" is called, which no TorchScript file needs", name.substr(0, 100));
}

}  // namespace

ObjectStore::~ObjectStore() {
  for (const auto& object : objects_) {  // children first lose their parents; each has another owner here
    if (auto* list = dynamic_cast<ListObject*>(object.get())) list->items.clear();
    if (auto* tuple = dynamic_cast<TupleObject*>(object.get())) tuple->items.clear();
    if (auto* dict = dynamic_cast<DictObject*>(object.get())) dict->items.clear();
    if (auto* instance = dynamic_cast<InstanceObject*>(object.get())) {
      instance->attributes.clear();
      instance->state = {};
    }
    if (auto* tensor = dynamic_cast<TensorObject*>(object.get())) {
      tensor->base.reset();
      tensor->read = nullptr;
      tensor->write = nullptr;
    }
  }
}

Item unpickle(Archive& archive, const std::string& folder, ObjectStore& store) { return Unpickler(archive, folder, store).run(); }

namespace {

constexpr DType kScalarTypes[] = {DType::u8,  DType::i8,  DType::i16,       DType::i32,       DType::i64,       DType::f16,
                                  DType::f32, DType::f64, DType::undefined, DType::undefined, DType::undefined, DType::boolean,
                                  DType::i8,  DType::u8,  DType::i32,       DType::bf16};

}  // namespace

DType dtype_of(int64_t scalar_type) noexcept {
  return scalar_type >= 0 && scalar_type < static_cast<int64_t>(std::size(kScalarTypes)) ? kScalarTypes[scalar_type] : DType::undefined;
}
int64_t scalar_type_of(DType dtype) noexcept {
  for (size_t i = 0; i < std::size(kScalarTypes); ++i)
    if (dtype != DType::undefined && kScalarTypes[i] == dtype) return static_cast<int64_t>(i);
  return -1;
}

}  // namespace minnow::torchscript

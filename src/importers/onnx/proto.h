// SPDX-License-Identifier: Apache-2.0
// Field numbers and enumerations of ONNX's messages (onnx.proto, IR version 13), as far as they are read or written.
#pragma once
#include <cstdint>
#include <string_view>

namespace minnow::onnx::field {

enum Model : uint32_t {
  kModelIrVersion = 1,
  kModelProducerName = 2,
  kModelProducerVersion = 3,
  kModelDomain = 4,
  kModelVersion = 5,
  kModelDoc = 6,
  kModelGraph = 7,
  kModelOpsetImport = 8,
  kModelMetadata = 14,
  kModelTrainingInfo = 20,
  kModelFunctions = 25,
  kModelConfiguration = 26
};
enum OperatorSetId : uint32_t { kOpsetDomain = 1, kOpsetVersion = 2 };
enum StringStringEntry : uint32_t { kEntryKey = 1, kEntryValue = 2 };

enum Function : uint32_t {
  kFunctionName = 1,
  kFunctionInput = 4,
  kFunctionOutput = 5,
  kFunctionAttribute = 6,  // names of attributes without a default
  kFunctionNode = 7,
  kFunctionOpsetImport = 9,
  kFunctionDomain = 10,
  kFunctionAttributeProto = 11,  // attributes with a default
  kFunctionOverload = 13
};

enum Graph : uint32_t {
  kGraphNode = 1,
  kGraphName = 2,
  kGraphInitializer = 5,
  kGraphInput = 11,
  kGraphOutput = 12,
  kGraphValueInfo = 13,
  kGraphSparseInitializer = 15
};
enum ValueInfo : uint32_t { kValueName = 1, kValueType = 2 };

enum Node : uint32_t {
  kNodeInput = 1,
  kNodeOutput = 2,
  kNodeName = 3,
  kNodeOpType = 4,
  kNodeAttribute = 5,
  kNodeDomain = 7,
  kNodeOverload = 8
};

enum Attribute : uint32_t {
  kAttributeName = 1,
  kAttributeF = 2,
  kAttributeI = 3,
  kAttributeS = 4,
  kAttributeT = 5,
  kAttributeG = 6,
  kAttributeFloats = 7,
  kAttributeInts = 8,
  kAttributeStrings = 9,
  kAttributeTensors = 10,
  kAttributeGraphs = 11,
  kAttributeTp = 14,
  kAttributeTypeProtos = 15,
  kAttributeType = 20,
  kAttributeRefName = 21,
  kAttributeSparseTensor = 22,
  kAttributeSparseTensors = 23
};

enum Tensor : uint32_t {
  kTensorDims = 1,
  kTensorDataType = 2,
  kTensorSegment = 3,
  kTensorFloatData = 4,
  kTensorInt32Data = 5,
  kTensorStringData = 6,
  kTensorInt64Data = 7,
  kTensorName = 8,
  kTensorRawData = 9,
  kTensorDoubleData = 10,
  kTensorUint64Data = 11,
  kTensorExternalData = 13,
  kTensorDataLocation = 14
};
enum SparseTensor : uint32_t { kSparseValues = 1, kSparseIndices = 2, kSparseDims = 3 };

enum Type : uint32_t { kTypeTensor = 1, kTypeSequence = 4, kTypeMap = 5, kTypeOpaque = 7, kTypeSparseTensor = 8, kTypeOptional = 9 };
enum TypeTensor : uint32_t { kTypeElement = 1, kTypeShape = 2 };  // element: also of a sequence and an optional
enum TensorShape : uint32_t { kShapeDim = 1 };
enum Dimension : uint32_t { kDimValue = 1, kDimParam = 2 };

// Files of inputs and outputs beside the conformance cases.
enum Sequence : uint32_t {
  kSequenceElement = 2,
  kSequenceTensors = 3,
  kSequenceSparse = 4,
  kSequenceSequences = 5,
  kSequenceMaps = 6,
  kSequenceOptionals = 7
};
enum Optional : uint32_t {
  kOptionalElement = 2,
  kOptionalTensor = 3,
  kOptionalSparse = 4,
  kOptionalSequence = 5,
  kOptionalMap = 6,
  kOptionalOptional = 7
};

}  // namespace minnow::onnx::field

namespace minnow::onnx {

/// AttributeProto.AttributeType.
enum class AttributeType : uint8_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14
};

/// TensorProto.DataLocation.
enum class DataLocation : uint8_t { in_place = 0, external = 1 };

/// SequenceProto.DataType and OptionalProto.DataType.
enum class ElementKind : uint8_t { undefined = 0, tensor = 1, sparse_tensor = 2, sequence = 3, map = 4, optional = 5 };

// Keys of metadata_props for properties of .minnow files that ONNX has no field for.
inline constexpr std::string_view kProducerKey = "minnow.producer";
inline constexpr std::string_view kLabelsKey = "minnow.labels";  // a label a line

inline constexpr int64_t kNewestOpset = 28;  // of ai.onnx; newer opsets are read like this one

}  // namespace minnow::onnx

# SPDX-License-Identifier: Apache-2.0
"""Where the answers of minnow.compat differ from those of MNN 3.6.1: the sentences of docs/mnn.md, and calls of cases.py that show the difference."""
_EXPLAINED = {
    "`F.floormod` of integers has the sign of the divisor. MNN's has the sign of the dividend.": [
        "F.floormod(i(7, -7, 9), i(2, 2, -4))"],
    "`F.cast(x, F.double)` gives float64. MNN's gives float32.": ["F.cast(f(2, 2), F.double)"],
    "`F.svd` and `np.linalg.svd` are correct. MNN 3.6.1 computes wrong singular values.": [
        "[F.svd(f(3, 2))[0], F.abs(F.svd(f(3, 2))[1]), F.abs(F.svd(f(3, 2))[2])]",
        "[np.linalg.svd(f(3, 2))[1], np.abs(np.linalg.svd(f(3, 2))[0]), np.abs(np.linalg.svd(f(3, 2))[2])]"],
    "A Var in NC4HW4 is read in the order of NCHW. MNN's shows packed channels, for example after `F.channel_shuffle`.": [
        "F.channel_shuffle(f(1, 4, 2, 2), 2)"],
    "`F.convert` also moves data of three or five axes. MNN's changes only the shape.": [
        "F.convert(f(2, 3, 4), F.NHWC)", "F.convert(f(2, 3, 4, 1, 2), F.NHWC)"],
    "`F.moments` gives mean and variance. MNN's results have the shape [0, 0, 0, 0].": ["F.moments(c(f(1, 4, 3, 3)))[0].shape"],
    "The result of `F.quant` reads as quantized numbers. MNN's reads as stored bytes, which are 128 larger.": [
        "n(F.quant(c(f(1, 4, 2, 2)), v(10, 20, 30, 40)))", "F.quant(f(1, 4, 2, 2), v(10, 20, 30, 40), -60, 60)"],
    "`x[places] = values` changes only these places. MNN's may change others too.": [
        "after(v(1, 2, 3, 4), lambda x: x.__setitem__(i(0, 2), v(10, 20)))"],
    "`np.frombuffer` respects its dtype. MNN's reads every byte as a number.": ["np.frombuffer(N([1.0, 2.0], \"float32\").tobytes(), np.float32)"],
    "`np.split` at places includes the last part. MNN's omits it.": ["np.split(f(4, 3), [1, 3])", "np.split(f(4, 3), [2, 4])"],
    "`np.matmul` of stacks, `np.vdot` of matrices and `np.tensordot` follow NumPy. MNN's multiply other axes or give None.": [
        "np.matmul(f(2, 2, 3), f(2, 3, 2))", "np.tensordot(f(2, 3), f(3, 2), 1)"],
    "`np.all` and `np.any` with an axis give a Var. MNN's give one bool for the first element.": [
        "np.all(I([1, 1, 0, 1], [2, 2]), 0)", "np.any(I([1, 1, 0, 1], [2, 2]), 0)"],
    "`np.nonzero`, `np.where` and `Var.nonzero` find all elements that are not zero. MNN's find only positive elements.": ["np.nonzero(v(-1, 0, 2))"],
    "`np.fix` and `np.trunc` round towards zero. MNN's round to the nearest integer.": ["np.fix(f(2, 3))", "np.trunc(f(2, 3))"],
    "`np.nansum` and the other nan functions ignore NaN. MNN's do not.": ["np.nansum(v(1, float(\"nan\"), 2))"],
    "`np.mod`, `np.divmod`, `np.modf`, `np.copysign`, `np.cbrt` and `np.sinc` follow NumPy for negative numbers and zero.": [
        "np.mod(f(2, 3), 0.7)", "np.divmod(f(2, 3), 0.7)", "np.modf(f(2, 3))", "np.copysign(f(2, 3), g(2, 3))", "np.cbrt(f(2, 3))", "np.sinc(v(0.0, 0.5))"],
    "`np.lexsort` gives indices. MNN's sorts the values.": ["np.lexsort(v(3, 1, 2))"],
    "`Tensor.copyFrom` and `copyToHostTensor` copy between any two tensors. MNN's do nothing unless one belongs to a session.": [
        "after(tensor(2, 3), lambda t: t.copyFrom(tensor(2, 3, start=5)), lambda t: t.getData())",
        "after(tensor(1, 2, 3, 2), lambda t: t.copyFrom(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow)), lambda t: t.getData())",
        "after(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow), lambda t: t.copyFrom(tensor(1, 2, 3, 2)), lambda t: t.getData())",
        "after(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow), lambda t: tensor(1, 2, 3, 2).copyToHostTensor(t), lambda t: t.getData())",
        "after(tensor(2, 3), lambda t: t.copyFromHostTensor(tensor(2, 3, start=5)), lambda t: t.getData())", "tensor(2, 3).copyFrom(tensor(2, 3))"],
}
SENTENCES = list(_EXPLAINED)
DIFFERENCES = {call: sentence for sentence, calls in _EXPLAINED.items() for call in calls}
# Calls that raise with minnow.compat and with MNN.
REFUSED = [
    "F.jsonop([v(1, -2)], '{\"type\": \"ReLU\", \"main_type\": \"Relu\", \"main\": {\"slope\": 0.0}}', 1)",
    "F.jsonop([f(2, 3), g(2, 3)], '{\"type\": \"BinaryOp\", \"main_type\": \"BinaryOp\", \"main\": {\"opType\": \"ADD\", \"T\": \"DT_FLOAT\"}}', 1)",
    "replaced()",
]

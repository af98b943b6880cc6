# SPDX-License-Identifier: Apache-2.0
"""Where minnow.compat answers differently than MNN 3.6.1, and why: the sentences of docs/mnn.md, and the calls of cases.py that show them."""
_EXPLAINED = {
    "`F.floormod` of integers has the sign of the divisor, as that of floating numbers; MNN's has the sign of the dividend.": [
        "F.floormod(i(7, -7, 9), i(2, 2, -4))"],
    "`F.cast(x, F.double)` gives float64; MNN's gives float32.": ["F.cast(f(2, 2), F.double)"],
    "`F.svd` and `np.linalg.svd` give the singular values; MNN 3.6.1 gives others.": [
        "[F.svd(f(3, 2))[0], F.abs(F.svd(f(3, 2))[1]), F.abs(F.svd(f(3, 2))[2])]",
        "[np.linalg.svd(f(3, 2))[1], np.abs(np.linalg.svd(f(3, 2))[0]), np.abs(np.linalg.svd(f(3, 2))[2])]"],
    "Vars in NC4HW4 are read in the order of NCHW; MNN's show how channels are packed. `F.channel_shuffle` gives such a Var.": [
        "F.channel_shuffle(f(1, 4, 2, 2), 2)"],
    "`F.convert` moves the channels of values of three or five axes too; MNN's changes their shape alone.": [
        "F.convert(f(2, 3, 4), F.NHWC)", "F.convert(f(2, 3, 4, 1, 2), F.NHWC)"],
    "`F.moments` gives mean and variance; MNN's results have the shape [0, 0, 0, 0].": ["F.moments(c(f(1, 4, 3, 3)))[0].shape"],
    "`F.quant` is read as the numbers that it means; MNN's show how bytes are kept, 128 more.": [
        "n(F.quant(c(f(1, 4, 2, 2)), v(10, 20, 30, 40)))", "F.quant(f(1, 4, 2, 2), v(10, 20, 30, 40), -60, 60)"],
    "`x[places] = values` changes these places alone; MNN changes others too where there are as many places as values.": [
        "after(v(1, 2, 3, 4), lambda x: x.__setitem__(i(0, 2), v(10, 20)))"],
    "`np.frombuffer` takes bytes as its dtype; MNN's takes each byte as a number.": ["np.frombuffer(N([1.0, 2.0], \"float32\").tobytes(), np.float32)"],
    "`np.split` with places gives the last part too; MNN's leaves it out.": ["np.split(f(4, 3), [1, 3])", "np.split(f(4, 3), [2, 4])"],
    "`np.matmul` of stacks of matrices and `np.tensordot` are NumPy's; MNN's multiply other axes, or give None.": [
        "np.matmul(f(2, 2, 3), f(2, 3, 2))", "np.tensordot(f(2, 3), f(3, 2), 1)"],
    "`np.all` and `np.any` with an axis give a Var; MNN's give one bool, of the first element.": [
        "np.all(I([1, 1, 0, 1], [2, 2]), 0)", "np.any(I([1, 1, 0, 1], [2, 2]), 0)"],
    "`np.nonzero`, `np.where` and `Var.nonzero` find everything that is not zero; MNN's find what is above zero.": ["np.nonzero(v(-1, 0, 2))"],
    "`np.fix` and `np.trunc` round towards zero; MNN's round to the nearest.": ["np.fix(f(2, 3))", "np.trunc(f(2, 3))"],
    "Functions of `np.nan...` leave NaN out; MNN's do not.": ["np.nansum(v(1, float(\"nan\"), 2))"],
    "`np.mod`, `np.divmod`, `np.modf`, `np.copysign`, `np.cbrt` and `np.sinc` of negative numbers and of zero are NumPy's.": [
        "np.mod(f(2, 3), 0.7)", "np.divmod(f(2, 3), 0.7)", "np.modf(f(2, 3))", "np.copysign(f(2, 3), g(2, 3))", "np.cbrt(f(2, 3))", "np.sinc(v(0.0, 0.5))"],
    "`np.lexsort` gives places; MNN's sorts.": ["np.lexsort(v(3, 1, 2))"],
    "`Tensor.copyFrom` and `copyToHostTensor` copy between any tensors; MNN's do nothing where none belongs to a session.": [
        "after(tensor(2, 3), lambda t: t.copyFrom(tensor(2, 3, start=5)), lambda t: t.getData())",
        "after(tensor(1, 2, 3, 2), lambda t: t.copyFrom(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow)), lambda t: t.getData())",
        "after(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow), lambda t: t.copyFrom(tensor(1, 2, 3, 2)), lambda t: t.getData())",
        "after(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow), lambda t: tensor(1, 2, 3, 2).copyToHostTensor(t), lambda t: t.getData())",
        "after(tensor(2, 3), lambda t: t.copyFromHostTensor(tensor(2, 3, start=5)), lambda t: t.getData())", "tensor(2, 3).copyFrom(tensor(2, 3))"],
}
SENTENCES = list(_EXPLAINED)
DIFFERENCES = {call: sentence for sentence, calls in _EXPLAINED.items() for call in calls}
# Calls that raise, as MNN's do.
REFUSED = [
    "F.jsonop([v(1, -2)], '{\"type\": \"ReLU\", \"main_type\": \"Relu\", \"main\": {\"slope\": 0.0}}', 1)",
    "F.jsonop([f(2, 3), g(2, 3)], '{\"type\": \"BinaryOp\", \"main_type\": \"BinaryOp\", \"main\": {\"opType\": \"ADD\", \"T\": \"DT_FLOAT\"}}', 1)",
    "replaced()",
]

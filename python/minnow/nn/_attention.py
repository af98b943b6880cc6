# SPDX-License-Identifier: Apache-2.0
"""Attention and the layers of transformers."""
from __future__ import annotations

import copy
from typing import Any, Callable

from minnow import _minnow
from minnow import numpy as np
from minnow._minnow import InvalidArgument, Var
from minnow._typing import DTypeLike, VarLike
from minnow.nn import functional as F
from minnow.nn import init
from minnow.nn._containers import ModuleList
from minnow.nn._layers import _Adapted, Dropout, LayerNorm, Linear, parameter
from minnow.nn._module import Module
from minnow.nn.functional import op

Activation = str | Callable[[Any], Any]


def _axis(axis: int) -> Var:
    return Var([axis], "int64")


class MultiheadAttention(_Adapted):
    """softmax(q k^T / sqrt(size)) v in num_heads parts of embed_dim (Vaswani et al. 2017), of query [L, N, E], key [S, N, kdim] and value [S, N, vdim]
    (batch_first: [N, L, E] ...; without a batch [L, E] ...). It gives outputs [L, N, E] and weights, or None without need_weights.

    attention(query, key, value, key_padding_mask [N, S], need_weights=True, attn_mask [L, S] or [N * heads, L, S]): masks are True where nothing
    attends to, or numbers to add. Parameters: in_proj_weight (or q_proj_weight, k_proj_weight, v_proj_weight if kdim or vdim is another),
    in_proj_bias, out_proj.weight, out_proj.bias, bias_k and bias_v. Raises InvalidArgument (a ValueError) for sizes that do not fit.

    >>> x = np.zeros((5, 2, 8), "float32")
    >>> y, weights = nn.MultiheadAttention(8, 2)(x, x, x)
    >>> y.shape, weights.shape
    ((5, 2, 8), (2, 5, 5))
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False,
                 kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, *, dtype: DTypeLike = "float32") -> None:
        if num_heads < 1 or embed_dim % num_heads:
            raise InvalidArgument(f"num_heads divides embed_dim, they are {num_heads} and {embed_dim}")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first, self.add_zero_attn = embed_dim, num_heads, dropout, batch_first, add_zero_attn
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = init.xavier_uniform_(parameter((3 * embed_dim, embed_dim), dtype))
        else:
            for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
                setattr(self, f"{name}_proj_weight", init.xavier_uniform_(parameter((embed_dim, width), dtype)))
        self.in_proj_bias = parameter((3 * embed_dim,), dtype) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)
        self.bias_k, self.bias_v = (init.xavier_normal_(parameter((1, 1, embed_dim), dtype)) if add_bias_kv else None for _ in range(2))

    def _adaptable(self) -> dict[str, Var]:
        own = vars(self)
        return {"lora": own["in_proj_weight"]} if "in_proj_weight" in own else {f"{name}_proj.lora": own[f"{name}_proj_weight"] for name in "qkv"}

    def _projected(self, query: Var, key: Var, value: Var) -> list[Var]:
        parts = [None] * 3 if self.in_proj_bias is None else _minnow.ops("Split", [self.in_proj_bias], 3, {"axis": 0, "num_outputs": 3})
        if "in_proj_weight" not in vars(self):
            weights = [self._with_lora(weight, name) for name, weight in self._adaptable().items()]
            return [F.linear(x, weight, bias) for weight, x, bias in zip(weights, (query, key, value), parts)]
        weight = self._with_lora(self.in_proj_weight)
        if query is key and key is value:
            return list(_minnow.ops("Split", [F.linear(query, weight, self.in_proj_bias)], 3, {"axis": -1, "num_outputs": 3}))
        weights = _minnow.ops("Split", [weight], 3, {"axis": 0, "num_outputs": 3})
        return [F.linear(x, weight, bias) for x, weight, bias in zip((query, key, value), weights, parts)]

    def forward(self, query: VarLike, key: VarLike, value: VarLike, key_padding_mask: VarLike | None = None, need_weights: bool = True,
                attn_mask: VarLike | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Var, Var | None]:
        q = F._var(query)
        k = q if key is query else F._var(key)
        v = k if value is key else F._var(value)
        rank = len(F.shape_of(q))
        F._rank_is(F.shape_of(q), 2, 3)
        # [batch, length, size]
        batched: Callable[[Var], Var] = (lambda x: op("Unsqueeze", x, _axis(0))) if rank == 2 else (lambda x: x if self.batch_first else op("Transpose", x, perm=[1, 0, 2]))
        same_key, same_value = k is q, v is k
        q = batched(q)
        k = q if same_key else batched(k)
        v = k if same_value else batched(v)
        if F.shape_of(q)[2] != self.embed_dim:
            raise InvalidArgument(f"the last axis of the query has the size {self.embed_dim}, its shape is {list(F.shape_of(query))}")
        batch, rows, _ = F.shape_of(q)
        columns, heads, size = F.shape_of(k)[1], self.num_heads, self.embed_dim // self.num_heads
        q, k, v = self._projected(q, k, v)
        mask = self._mask(key_padding_mask, attn_mask, is_causal, batch, rows, columns, q)
        for bias_k, bias_v in [(self.bias_k, self.bias_v)] if self.bias_k is not None and self.bias_v is not None else []:
            k, v = (op("Concat", x, op("Expand", bias, Var([batch, 1, self.embed_dim], "int64")), axis=1) for x, bias in ((k, bias_k), (v, bias_v)))
            columns += 1
        if self.add_zero_attn:
            k, v = (op("Pad", x, Var([0, 0, 0, 0, 1, 0], "int64")) for x in (k, v))
            columns += 1
        if mask is not None and F.shape_of(mask)[-1] < columns:
            mask = op("Pad", mask, Var([0] * 7 + [columns - F.shape_of(mask)[-1]], "int64"))
        q, k, v = (op("Transpose", op("Reshape", x, Var([batch, -1, heads, size], "int64")), perm=[0, 2, 1, 3]) for x in (q, k, v))
        dropped = self.dropout if self.training else 0.0
        if need_weights or dropped:
            y, weights = F.attention(q, k, v, mask, dropped, False, None)
        else:
            y, weights = F.fused_attention(q, k, v, mask, False, None), None
        y = self.out_proj(op("Reshape", op("Transpose", y, perm=[0, 2, 1, 3]), Var([batch, rows, self.embed_dim], "int64")))
        y = op("Squeeze", y, _axis(0)) if rank == 2 else y if self.batch_first else op("Transpose", y, perm=[1, 0, 2])
        if weights is None or not need_weights:
            return y, None
        if average_attn_weights:
            weights = op("ReduceMean", weights, _axis(1), keepdims=0)
        return y, op("Squeeze", weights, _axis(0)) if rank == 2 else weights

    def _mask(self, padding: VarLike | None, mask: VarLike | None, is_causal: bool, batch: int, rows: int, columns: int, q: Var) -> Var | None:
        """Numbers to add to the scores [batch, heads, rows, columns]."""
        least = Var(float("-inf"), q.dtype)

        def added(value: VarLike, shape: list[int]) -> Var:
            x = F._var(value)
            x = op("Where", x, least, Var(0, q.dtype)) if str(x.dtype) == "bool" else x
            return op("Reshape", x, Var(shape, "int64"))

        made = None
        if is_causal and mask is None:
            mask = op("Trilu", F._filled(1, (rows, columns), q), Var(1, "int64"), upper=1).astype("bool")
        if mask is not None:
            shape = F.shape_of(mask)
            made = added(mask, [1, 1, *shape] if len(shape) == 2 else [batch, self.num_heads, *shape[1:]])
        if padding is not None:
            other = added(padding, [batch, 1, 1, columns])
            made = other if made is None else made + other
        return made

    def __repr__(self) -> str:
        return f"MultiheadAttention({self.embed_dim}, {self.num_heads}, batch_first={self.batch_first})"


def _activation(activation: Activation) -> Callable[[Any], Any]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise InvalidArgument(f'an activation is "relu", "gelu" or a function, not "{activation}"')
    return F.relu if activation == "relu" else F.gelu


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself and two linear layers, each added to its input and normalized, or with norm_first normalized before (Vaswani
    et al. 2017). layer(src, src_mask, src_key_padding_mask, is_causal); see MultiheadAttention. Raises its errors.

    >>> nn.TransformerEncoderLayer(8, 2, 16)(np.zeros((5, 2, 8), "float32")).shape
    (5, 2, 8)
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = "relu", layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, *, dtype: DTypeLike = "float32") -> None:
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype)
        self.linear1, self.dropout = Linear(d_model, dim_feedforward, bias, dtype=dtype), Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm1, self.norm2 = (LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(2))
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.norm_first, self.activation = norm_first, _activation(activation)

    def _attend(self, x: Var, mask: Any, padding: Any, is_causal: bool) -> Any:
        return self.dropout1(self.self_attn(x, x, x, padding, False, mask, is_causal=is_causal)[0])

    def _forward(self, x: Var) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(self, src: VarLike, src_mask: VarLike | None = None, src_key_padding_mask: VarLike | None = None, is_causal: bool = False) -> Var:
        x: Any = F._var(src)
        if self.norm_first:
            x = x + self._attend(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._forward(self.norm2(x))  # type: ignore[no-any-return]
        x = self.norm1(x + self._attend(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._forward(x))  # type: ignore[no-any-return]


class TransformerDecoderLayer(Module):
    """TransformerEncoderLayer with an attention to another sequence between: layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
    memory_key_padding_mask, tgt_is_causal, memory_is_causal). Raises its errors.

    >>> nn.TransformerDecoderLayer(8, 2, 16)(np.zeros((3, 2, 8), "float32"), np.zeros((5, 2, 8), "float32")).shape
    (3, 2, 8)
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = "relu", layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, *, dtype: DTypeLike = "float32") -> None:
        self.self_attn, self.multihead_attn = (MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype) for _ in range(2))
        self.linear1, self.dropout = Linear(d_model, dim_feedforward, bias, dtype=dtype), Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.norm_first, self.activation = norm_first, _activation(activation)

    def forward(self, tgt: VarLike, memory: VarLike, tgt_mask: VarLike | None = None, memory_mask: VarLike | None = None,
                tgt_key_padding_mask: VarLike | None = None, memory_key_padding_mask: VarLike | None = None, tgt_is_causal: bool = False,
                memory_is_causal: bool = False) -> Var:
        x: Any = F._var(tgt)
        parts: list[tuple[Module, Callable[[Any], Any]]] = [
            (self.norm1, lambda x: self.dropout1(self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0])),
            (self.norm2, lambda x: self.dropout2(self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal)[0])),
            (self.norm3, lambda x: self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x))))))]
        for norm, part in parts:
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x  # type: ignore[no-any-return]


class TransformerEncoder(Module):
    """num_layers copies of a layer, one after the other, and a normalization. Copies begin with the same weights. Raises the errors of the layer.

    >>> nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 3)(np.zeros((5, 2, 8), "float32")).shape
    (5, 2, 8)
    """

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None) -> None:
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src: VarLike, mask: VarLike | None = None, src_key_padding_mask: VarLike | None = None, is_causal: bool = False) -> Var:
        x: Any = src
        for layer in self.layers:
            x = layer(x, mask, src_key_padding_mask, is_causal)
        return x if self.norm is None else self.norm(x)  # type: ignore[no-any-return]


class TransformerDecoder(Module):
    """num_layers copies of a layer, one after the other, and a normalization. Copies begin with the same weights. Raises the errors of the layer.

    >>> nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 3)(np.zeros((3, 2, 8), "float32"), np.zeros((5, 2, 8), "float32")).shape
    (3, 2, 8)
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        self.layers = ModuleList(copy.deepcopy(decoder_layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt: VarLike, memory: VarLike, tgt_mask: VarLike | None = None, memory_mask: VarLike | None = None,
                tgt_key_padding_mask: VarLike | None = None, memory_key_padding_mask: VarLike | None = None, tgt_is_causal: bool = False,
                memory_is_causal: bool = False) -> Var:
        x: Any = tgt
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal)
        return x if self.norm is None else self.norm(x)  # type: ignore[no-any-return]


class Transformer(Module):
    """An encoder and a decoder, each with a normalization at its end (Vaswani et al. 2017): transformer(src, tgt, src_mask, tgt_mask, memory_mask,
    src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask, src_is_causal, tgt_is_causal, memory_is_causal). Matrices begin with
    numbers of equal chance by Glorot's rule. Raises the errors of TransformerEncoderLayer.

    >>> net = nn.Transformer(8, 2, 1, 1, 16)
    >>> net(np.zeros((5, 2, 8), "float32"), np.zeros((3, 2, 8), "float32")).shape
    (3, 2, 8)
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048,
                 dropout: float = 0.1, activation: Activation = "relu", custom_encoder: Module | None = None, custom_decoder: Module | None = None,
                 layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, *, dtype: DTypeLike = "float32") -> None:
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        settings: Any = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        ends = (LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(2))
        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*settings, dtype=dtype), num_encoder_layers, next(ends))
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*settings, dtype=dtype), num_decoder_layers, next(ends))
        for value in self.parameters():
            if len(value.shape) > 1:
                init.xavier_uniform_(value)

    def forward(self, src: VarLike, tgt: VarLike, src_mask: VarLike | None = None, tgt_mask: VarLike | None = None, memory_mask: VarLike | None = None,
                src_key_padding_mask: VarLike | None = None, tgt_key_padding_mask: VarLike | None = None, memory_key_padding_mask: VarLike | None = None,
                src_is_causal: bool = False, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Var:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        made: Var = self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal)
        return made

    @staticmethod
    def generate_square_subsequent_mask(size: int, *, dtype: DTypeLike = "float32") -> Var:
        """A mask [size, size] for a sequence that attends to itself: -inf where a position would see a later one. Never fails."""
        return np.triu(np.full((size, size), float("-inf"), dtype), 1)


__all__ = ["MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]

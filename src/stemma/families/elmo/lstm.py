"""A layer of LSTMs, one for each direction of reading, that step through time side by side.

Gates as in Gers et al. (2000), a projection of the output as in Sak et al. (2014), both as in `nn.LSTM`; the order of the gates
is output, input, forget, new. What a step needs of its inputs is one product before the recurrence, gradients of weights are one
product each behind it, and the slopes of all gates are worked out on whole arrays.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

__all__ = ["Lstm", "State"]

State = tuple[Tensor, Tensor]  # the last output (directions, rows, size) and cell (directions, rows, cells)


class Lstm(nn.Module):
    """`directions` LSTMs of like shape; with another number of cells than `size`, what they give is projected to that."""

    def __init__(self, directions: int, input_size: int, cells: int, size: int) -> None:
        super().__init__()
        self.cells, self.size = cells, size
        self.from_input = nn.Parameter(torch.empty(directions, input_size, 4 * cells))
        self.from_output = nn.Parameter(torch.empty(directions, size, 4 * cells))
        self.bias = nn.Parameter(torch.empty(directions * 4 * cells))  # flat: vectors do not decay
        self.projection = nn.Parameter(torch.empty(directions, cells, size)) if cells != size else None
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -1 / math.sqrt(cells), 1 / math.sqrt(cells))
        with torch.no_grad():
            self.bias.view(directions, 4, cells)[:, 2].add_(1.0)  # at first nothing is forgotten

    def forward(self, inputs: Tensor, state: State | None) -> tuple[Tensor, State]:
        """From inputs (directions, length, rows, input size) to outputs and the state behind them, which has no gradient."""
        directions, _, rows, _ = inputs.shape
        if state is None:
            shape = (directions, rows)
            state = inputs.new_zeros(*shape, self.size), inputs.new_zeros(*shape, self.cells)
        weights = (self.from_input, self.from_output, self.bias, self.projection)
        outputs, cell = _Recurrence.apply(inputs, *state, *weights)  # type: ignore[no-untyped-call]
        return outputs, (outputs[:, -1].detach().clone(), cell)


class _Recurrence(torch.autograd.Function):
    """All steps of a layer, forwards and back."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        output: Tensor,
        cell: Tensor,
        from_input: Tensor,
        from_output: Tensor,
        bias: Tensor,
        projection: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        directions, length, rows, _ = inputs.shape
        num_cells = cell.shape[2]
        gates = torch.baddbmm(bias.view(directions, 1, -1), inputs.flatten(1, 2), from_input)
        gates = gates.view(directions, length, rows, 4 * num_cells)
        out, into, forget, new = gates.chunk(4, dim=3)
        cells = gates.new_empty(directions, length + 1, rows, num_cells)  # from the one before the first step on
        tanhs = torch.empty_like(cells[:, 1:])
        outputs = gates.new_empty(directions, length + 1, rows, output.shape[2])
        hidden = outputs[:, 1:] if projection is None else torch.empty_like(tanhs)
        outputs[:, 0], cells[:, 0] = output, cell
        for step in range(length):
            gates[:, step].baddbmm_(outputs[:, step], from_output)
            gates[:, step, :, : 3 * num_cells].sigmoid_()
            new[:, step].tanh_()
            torch.mul(forget[:, step], cells[:, step], out=cells[:, step + 1])
            cells[:, step + 1].addcmul_(into[:, step], new[:, step])
            torch.tanh(cells[:, step + 1], out=tanhs[:, step])
            torch.mul(out[:, step], tanhs[:, step], out=hidden[:, step])
            if projection is not None:
                outputs[:, step + 1] = torch.bmm(hidden[:, step], projection)
        last = cells[:, -1].clone()
        ctx.save_for_backward(inputs, gates, cells, tanhs, outputs, hidden, from_input, from_output, projection)
        ctx.mark_non_differentiable(last)
        return outputs[:, 1:], last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        inputs, gates, cells, tanhs, outputs, hidden, from_input, from_output, projection = ctx.saved_tensors
        length, num_cells = tanhs.shape[1], tanhs.shape[3]
        slopes, slope_of_cell = _slopes(gates, cells, tanhs)
        by_cell = slopes.view(*slopes.shape[:3], 4, num_cells)[
            :, :, :, 1:
        ]  # those that reach the loss through the cell
        forget = gates[..., 2 * num_cells : 3 * num_cells]
        of_gates, of_projected = torch.empty_like(gates), torch.empty_like(of_outputs)
        of_gates_by_cell = of_gates.view(*gates.shape[:3], 4, num_cells)[:, :, :, 1:]
        back = from_output.transpose(1, 2).contiguous()
        unproject = None if projection is None else projection.transpose(1, 2).contiguous()
        of_cell, of_next = torch.zeros_like(cells[:, 0]), torch.zeros_like(outputs[:, 0])
        for step in reversed(range(length)):
            of_output = torch.add(of_outputs[:, step], of_next, out=of_projected[:, step])
            of_hidden = of_output if unproject is None else torch.bmm(of_output, unproject)
            of_cell.addcmul_(of_hidden, slope_of_cell[:, step])
            torch.mul(of_hidden, slopes[:, step, :, :num_cells], out=of_gates[:, step, :, :num_cells])
            torch.mul(of_cell[:, :, None], by_cell[:, step], out=of_gates_by_cell[:, step])
            of_cell.mul_(forget[:, step])
            of_next = torch.bmm(of_gates[:, step], back)
        flat = of_gates.flatten(1, 2)
        of_inputs = torch.bmm(flat, from_input.transpose(1, 2)).view_as(inputs) if ctx.needs_input_grad[0] else None
        return (
            of_inputs,
            None,
            None,
            torch.bmm(inputs.flatten(1, 2).transpose(1, 2), flat),
            torch.bmm(outputs[:, :-1].flatten(1, 2).transpose(1, 2), flat),
            flat.sum(1).flatten(),
            None if projection is None else torch.bmm(hidden.flatten(1, 2).transpose(1, 2), of_projected.flatten(1, 2)),
        )


def _slopes(gates: Tensor, cells: Tensor, tanhs: Tensor) -> tuple[Tensor, Tensor]:
    """How the hidden layer changes with what its output gate is given, and the cell with what the others are given.

    Behind it, how the hidden layer changes with the cell.
    """
    num_cells = tanhs.shape[3]
    out, into, _, new = gates.chunk(4, dim=3)
    slopes = torch.empty_like(gates)
    of_out, of_into, of_forget, of_new = slopes.chunk(4, dim=3)
    sigmoids = gates[..., : 3 * num_cells]
    torch.addcmul(sigmoids, sigmoids, sigmoids, value=-1, out=slopes[..., : 3 * num_cells])
    of_out.mul_(tanhs)
    of_into.mul_(new)
    of_forget.mul_(cells[:, :-1])
    torch.mul(new, new, out=of_new).neg_().add_(1).mul_(into)
    return slopes, torch.addcmul(out, out * tanhs, tanhs, value=-1)

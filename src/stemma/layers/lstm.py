"""A layer of LSTMs, one for each direction of reading, that step through time side by side.

Gates as in Gers et al. (2000), a projection of the output as in Sak et al. (2014), both as in `nn.LSTM`; the order of the gates
is output, input, forget, new. What a step needs of its inputs is one product before the recurrence, gradients of weights are one
product each behind it, and the slopes of all gates are worked out on whole arrays.

Rows of unequal length: `Turn` gives a backward direction each row from its own end on, so that either direction reads padding
last, and padding changes nothing.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

__all__ = ["Lstm", "State", "Turn", "read_both_ways"]

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


class Turn:
    """Turns rows of unequal length round (length, rows, …): last tokens come first, padding stays behind; twice is not at all."""

    def __init__(self, lengths: Tensor, width: int) -> None:
        steps, rows = torch.arange(width)[:, None], torch.arange(len(lengths))
        self._places = (torch.where(steps < lengths, lengths - 1 - steps, steps) * len(lengths) + rows).flatten()

    def __call__(self, values: Tensor) -> Tensor:
        """Rows of which the columns are in the order of the text, in that of reading backwards, and the other way round."""
        return values.flatten(0, 1).index_select(0, self._places).view_as(values)


def read_both_ways(lstm: Lstm, features: Tensor, turn: Turn) -> Tensor:
    """What LSTMs of two directions make of rows (length, rows, size), side by side: (rows, length, 2 × size)."""
    hidden, _ = lstm(torch.stack([features, turn(features)]), None)
    return torch.cat([hidden[0], turn(hidden[1])], dim=2).transpose(0, 1)


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
        cells = gates.new_empty(directions, length + 1, rows, num_cells)  # from the one before the first step on
        outputs = gates.new_empty(directions, length + 1, rows, output.shape[2])
        tanhs = torch.empty_like(cells[:, 1:])
        hidden = outputs[:, 1:] if projection is None else torch.empty_like(tanhs)
        outputs[:, 0], cells[:, 0] = output, cell
        out, into, forget, new = (gate.unbind(1) for gate in gates.chunk(4, dim=3))
        sigmoids, given = gates[..., : 3 * num_cells].unbind(1), gates.unbind(1)
        cell_at, tanh_at, hidden_at, output_at = (each.unbind(1) for each in (cells, tanhs, hidden, outputs))
        for step in range(length):
            given[step].baddbmm_(output_at[step], from_output)
            sigmoids[step].sigmoid_()
            new[step].tanh_()
            torch.mul(forget[step], cell_at[step], out=cell_at[step + 1]).addcmul_(into[step], new[step])
            torch.tanh(cell_at[step + 1], out=tanh_at[step])
            torch.mul(out[step], tanh_at[step], out=hidden_at[step])
            if projection is not None:
                torch.bmm(hidden_at[step], projection, out=output_at[step + 1])
        last = cells[:, -1].clone()
        ctx.save_for_backward(inputs, gates, cells, tanhs, outputs, hidden, from_input, from_output, projection)
        ctx.mark_non_differentiable(last)
        return outputs[:, 1:], last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        inputs, gates, cells, tanhs, outputs, hidden, from_input, from_output, projection = ctx.saved_tensors
        length, num_cells = tanhs.shape[1], tanhs.shape[3]
        slopes, of_hidden_by_cell = _slopes(gates, cells, tanhs)
        of_gates, of_projected = torch.empty_like(gates), torch.empty_like(of_outputs)
        back = from_output.transpose(1, 2).contiguous()
        unproject = None if projection is None else projection.transpose(1, 2).contiguous()
        of_cell, of_next = torch.zeros_like(cells[:, 0]), torch.zeros_like(outputs[:, 0])
        # the output gate reaches the loss past the cell, the three others through it
        (slope_out, slope_cell), (of_out, of_others) = (
            (each[:, :, :, 0].unbind(1), each[:, :, :, 1:].unbind(1))
            for each in (array.view(*gates.shape[:3], 4, num_cells) for array in (slopes, of_gates))
        )
        slope_hidden, forget = of_hidden_by_cell.unbind(1), gates.chunk(4, dim=3)[2].unbind(1)
        asked, of_given, of_output_at = of_outputs.unbind(1), of_gates.unbind(1), of_projected.unbind(1)
        for step in reversed(range(length)):
            of_hidden = torch.add(asked[step], of_next, out=of_output_at[step])
            if unproject is not None:
                of_hidden = torch.bmm(of_hidden, unproject)
            of_cell.addcmul_(of_hidden, slope_hidden[step])
            torch.mul(of_hidden, slope_out[step], out=of_out[step])
            torch.mul(of_cell[:, :, None], slope_cell[step], out=of_others[step])
            of_cell.mul_(forget[step])
            torch.bmm(of_given[step], back, out=of_next)
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

"""tictactoe_vs_random: noughts and crosses against an opponent who plays at random."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from omdt.environments._shared import check
from omdt.errors import InputError
from omdt.mdp import MDP, Bools, Floats, Ints

FREE, CROSS, CIRCLE = 0, 1, 2
TERMINAL = -1
"""What stands in place of the code of a board where the game is over."""

MAX_SQUARES = 14
"""Maximum number of squares of a board, with which there are 13 million transitions."""

ROWS, COLUMNS = ("top", "center", "bottom"), ("left", "center", "right")

Boards = NDArray[np.int8]


def tictactoe_vs_random(*, rows: int = 3, columns: int = 3, in_a_row: int = 3, discount: float = 0.99) -> MDP:
    """The player's side of tic-tac-toe, against uniformly random replies.

    What it models:
        A game of two made into an MDP by fixing the opponent: the player draws crosses and begins, the opponent marks
        a free square at random.

    States:
        The boards reachable from the empty one on which it is the player's turn and nobody has won, in lexicographic
        order of the squares (free, cross, circle), then one absorbing terminal state. The features are three bits for
        each square in row order, `<square>_free`, `<square>_cross` and `<square>_circle`, all −1 in the terminal state.

    Actions:
        One for each square in row order, which marks it. On three by three squares they are called top_left,
        top_center, top_right, center_left, center, center_right, bottom_left, bottom_center and bottom_right, otherwise
        row_0_column_0 and so on.

    Transitions:
        Marking a taken square, completing a line and filling the board end the game. Otherwise the opponent marks each
        free square with equal probability, which may end the game in the same ways.

    Rewards:
        +1 for a won game, −1 for a lost one and for marking a taken square, 0 for a draw.

    Start:
        The empty board.

    Parameters:
        rows: of the board.
        columns: of the board; rows times columns may be 2 to 14.
        in_a_row: marks that win when they stand side by side in a row, a column or a diagonal; at least 2 and at most
            the longer edge of the board.
        discount: γ.

    Source:
        Vos and Verwer, "Optimal Decision Tree Policies for Markov Decision Processes" (IJCAI 2023).
    """
    check("rows", rows, low=1)
    check("columns", columns, low=1)
    squares = rows * columns
    if not 2 <= squares <= MAX_SQUARES:
        raise InputError(
            f"{rows} by {columns} squares have up to 3^{squares} boards; rows times columns must be between 2 and "
            f"{MAX_SQUARES}"
        )
    check("in_a_row", in_a_row, 2, max(rows, columns))
    game = _play(squares, _lines(rows, columns, in_a_row))
    codes = np.unique(game.board)
    boards = _boards(codes, squares)
    names = _square_names(rows, columns)
    S = len(codes) + 1
    bits = (boards[:, :, None] == np.array([FREE, CROSS, CIRCLE])).reshape(S - 1, 3 * squares)
    return MDP(
        transitions=_transitions(game, codes, boards),
        rewards=_rewards(game, codes, boards),
        initial=np.arange(S) == 0,
        features=np.vstack([bits, np.full(3 * squares, -1)]),
        discount=discount,
        feature_names=tuple(f"{name}_{mark}" for name in names for mark in ("free", "cross", "circle")),
        action_names=names,
        name="tictactoe_vs_random",
    ).reachable()


@dataclass(frozen=True)
class _Game:
    """All [N] outcomes of marking a free square: board, square, next board (codes), probability and reward."""

    board: Ints
    square: Ints
    successor: Ints
    probability: Floats
    reward: Floats


def _square_names(rows: int, columns: int) -> tuple[str, ...]:
    if (rows, columns) != (3, 3):
        return tuple(f"row_{y}_column_{x}" for y in range(rows) for x in range(columns))
    return tuple("center" if y == x == "center" else f"{y}_{x}" for y in ROWS for x in COLUMNS)


def _lines(rows: int, columns: int, length: int) -> Bools:
    """[squares, lines] which squares make up each winning line."""
    lines = []
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for y in range(rows):
            for x in range(columns):
                cells = [(y + i * dy, x + i * dx) for i in range(length)]
                if all(0 <= row < rows and 0 <= column < columns for row, column in cells):
                    line = np.zeros((rows, columns), dtype=np.bool_)
                    line[tuple(zip(*cells, strict=True))] = True
                    lines.append(line.ravel())
    return np.array(lines).T


def _wins(marks: Bools, lines: Bools) -> Bools:
    """[boards] whether the marks [boards, squares] fill a line; the product counts the marks on each line."""
    counts = marks.astype(np.float32) @ lines.astype(np.float32)
    return np.asarray((counts == lines.sum(axis=0)).any(axis=1))


def _place_values(squares: int) -> Ints:
    return 3 ** np.arange(squares - 1, -1, -1, dtype=np.int64)


def _codes(boards: Boards) -> Ints:
    """[boards] each board as a number in base three, first square first."""
    return boards.astype(np.int64) @ _place_values(boards.shape[1])


def _boards(codes: Ints, squares: int) -> Boards:
    return (codes[:, None] // _place_values(squares) % 3).astype(np.int8)


def _mark(boards: Boards, mark: int) -> tuple[Ints, Ints, Boards]:
    """Every way to mark a free square: index of the board, square, and the board afterwards."""
    board, square = np.nonzero(boards == FREE)
    after = boards[board]
    after[np.arange(len(after)), square] = mark
    return board, square, after


def _play(squares: int, lines: Bools) -> _Game:
    """Play all games from the empty board, all boards with equally many marks at once."""
    boards = np.zeros((1, squares), dtype=np.int8)
    rounds: list[tuple[NDArray[np.generic], ...]] = []
    while len(boards):
        codes = _codes(boards)
        board, square, crossed = _mark(boards, CROSS)
        won = _wins(crossed == CROSS, lines)
        free = (crossed == FREE).sum(axis=1)
        ended = np.flatnonzero(won | (free == 0))
        nowhere = np.full(len(ended), TERMINAL)
        rounds.append((codes[board[ended]], square[ended], nowhere, np.ones(len(ended)), won[ended]))

        going = np.flatnonzero(~won & (free > 0))
        reply, _, circled = _mark(crossed[going], CIRCLE)
        source = going[reply]
        lost = _wins(circled == CIRCLE, lines)
        over = lost | ~(circled == FREE).any(axis=1)
        successor = np.where(over, TERMINAL, _codes(circled))
        rounds.append((codes[board[source]], square[source], successor, 1 / free[source], -lost.astype(np.float64)))
        boards = _boards(np.unique(successor[~over]), squares)
    return _Game(*(np.concatenate(column) for column in zip(*rounds, strict=True)))


def _transitions(game: _Game, codes: Ints, boards: Boards) -> sparse.csr_array:
    """[S·A, S]; taken squares and the terminal state lead to the terminal state."""
    S, A = len(codes) + 1, boards.shape[1]
    state, square = np.nonzero(boards != FREE)
    idle = np.concatenate([state * A + square, (S - 1) * A + np.arange(A)])
    rows = np.concatenate([np.searchsorted(codes, game.board) * A + game.square, idle])
    successors = np.where(game.successor == TERMINAL, S - 1, np.searchsorted(codes, game.successor))
    columns = np.concatenate([successors, np.full(len(idle), S - 1)])
    probabilities = np.concatenate([game.probability, np.ones(len(idle))])
    return sparse.csr_array(sparse.coo_array((probabilities, (rows, columns)), shape=(S * A, S)))


def _rewards(game: _Game, codes: Ints, boards: Boards) -> Floats:
    """[S, A]"""
    S, A = len(codes) + 1, boards.shape[1]
    rows = np.searchsorted(codes, game.board) * A + game.square
    earned = np.bincount(rows, weights=game.probability * game.reward, minlength=S * A)
    rewards = np.asarray(earned, dtype=np.float64).reshape(S, A)
    rewards[:-1][boards != FREE] = -1.0
    return rewards

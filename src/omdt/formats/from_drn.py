"""Storm's explicit format DRN: a header, then every state with its rewards, labels, choices and transitions.

    @type: MDP
    @parameters

    @reward_models
    cost
    @nr_states
    2
    @nr_choices
    3
    @model
    state 0 [1] init
    //[x=0 & up=true]
        action go [0.5]
            0 : 1/3
            1 : 2/3
        action stay [0]
            0 : 1
    state 1 [0]
    //[x=1 & up=false]
        action stay [0]
            1 : 1

The reward of a choice is the state's plus its own. Storm writes the variables of a state as a comment; they are the
features. Where the file has none, a file `state-valuations.json` beside it, as PAYNT writes it, may hold them. A reward
model may have an empty name.

What the format has no syntax for may stand in comments before @model (see `omdt.formats.drn_comments`).
"""

from pathlib import Path

from omdt.formats.drn_header import Header
from omdt.formats.drn_model import Built, Model
from omdt.formats.options import ReadOptions
from omdt.formats.rewards import chosen_reward
from omdt.formats.text import discount_or_default, numbered_lines
from omdt.mdp import MDP


def read(path: Path, options: ReadOptions) -> MDP:
    """Read an MDP or a Markov chain from a DRN file, whose comments may give the discount and the fallback."""
    return read_as(path, path, options)


def read_as(file: Path, path: Path, options: ReadOptions, built: Built | None = None) -> MDP:
    """Read a DRN file that stands for the model in `path`, after which messages and the MDP are called."""
    lines = numbered_lines(file)
    header = Header(path, lines)
    chosen = chosen_reward(path, header.models, header.comments.choosing(options))
    model = Model(path, header, chosen, built)
    for number, line in lines:
        model.take(number, line)
    model.finish()
    # A file with a discount asks for a discounted sum itself.
    if header.comments.discount is None and chosen is not None:
        chosen.tell(model.choices.rewards, model.labels, properties=0 if built is None else built.properties)
    discount = discount_or_default(path, options.discount_or(header.comments.discount))
    return model.mdp(discount, header.comments.fallback if options.fallback is None else options.fallback)

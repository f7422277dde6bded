"""A front is written, read back, drawn and printed, ends when it is told to, and refuses what makes no sense."""

import csv
import io
import json
import math
import signal
import sys
from dataclasses import replace

import pytest

import omdt
from data_frames import use_pandas
from omdt import InputError, cli
from omdt.report import write_plot
from omdt.report.front import front_page
from omdt.report.front_chart import front_chart
from omdt.solution import Stop
from omdt.tradeoffs.front_knee import knee, knee_sentence, share
from omdt.tradeoffs.front_points import Front, Point, load_front
from strategies import environment

SVG_START = "<svg"


@pytest.fixture(scope="module")
def lake() -> Front:
    return omdt.front(environment("frozenlake_4x4"), max_leaf_nodes=8)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The status with which the command ends."""
    monkeypatch.setattr(sys, "argv", ["omdt", *map(str, arguments)])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_the_json_has_what_was_promised_and_is_read_back(lake, tmp_path):
    lake.save(tmp_path / "front.json")
    data = json.loads((tmp_path / "front.json").read_text())
    assert data["format"] == "omdt-front-1"
    assert [point["n_leaves"] for point in data["points"]] == list(range(1, 9))
    assert all({"value", "bound", "proven", "tree"} <= point.keys() for point in data["points"])
    assert (data["problem"], data["by"], data["points"][3]["proven"]) == ("frozenlake_4x4", "leaves", True)
    again = load_front(tmp_path / "front.json")
    assert again.to_json(tmp_path) == lake.to_json(tmp_path)
    assert again[4].tree == lake[4].tree


def test_every_point_is_a_solution_of_its_own(lake, tmp_path):
    lake[3].solution.save(tmp_path / "three.json")
    three = omdt.load(tmp_path / "three.json")
    assert (three.max_leaf_nodes, three.value) == (3, lake[3].value)
    assert omdt.evaluate(environment("frozenlake_4x4"), three.tree) == pytest.approx(three.value, rel=1e-9)


def test_the_csv_has_one_line_per_point(lake):
    rows = list(csv.DictReader(io.StringIO(lake.to_csv())))
    assert [int(row["n_leaves"]) for row in rows] == list(range(1, 9))
    assert [float(row["value"]) for row in rows] == [point.value for point in lake]


def test_a_data_frame_has_one_row_per_point(lake, monkeypatch):
    columns = use_pandas(monkeypatch)(lake.to_frame())
    for name in ("n_leaves", "value", "proven", "tree"):
        assert columns[name] == [getattr(point, name) for point in lake]


def test_the_knee_is_told_in_a_sentence(lake):
    assert knee(lake) is lake[5]
    assert knee_sentence(lake) == (
        "5 leaves keep 83.3 % of what the best policy gains over random; the sixth adds 12.5 %"
    )
    assert share(lake[7]) == pytest.approx(1.0)
    small = Front("leaves", lake.points[6:])
    assert knee_sentence(small) == "7 leaves are as good as the best policy of any form"


@pytest.mark.parametrize(
    ("values", "optimal", "random", "sentence"),
    [
        ((0.0, 0.9, 0.9), 1.0, 0.0, "2 leaves keep 90.0 % of what the best policy gains over random; no tree of up to "
         "3 leaves is better"),
        ((-2.0, -1.0), 1.0, 0.0, "2 leaves are worse than the random policy"),
        ((1.0, 1.0), 1.0, 1.0, "1 leaf is as good as the best policy of any form, and so is random"),
        ((-math.inf, 0.5), 1.0, 0.0, "2 leaves keep 50.0 % of what the best policy gains over random"),
        ((-math.inf, -math.inf), 1.0, 0.0, ""),
    ],
)  # fmt: skip
def test_sentences_fit_every_shape(lake, values, optimal, random, sentence):
    base = replace(lake.largest, optimal_return=optimal, random_return=random, rounding=0.0, scale=1.0)
    points = (Point(i + 1, i, replace(base, value=value, bound=value)) for i, value in enumerate(values))
    made = Front("leaves", tuple(points))
    assert knee_sentence(made) == sentence
    assert SVG_START in front_chart(made, 700)
    assert "</html>" in front_page(made)


def test_it_is_drawn_by_the_ending_of_the_name(lake, tmp_path):
    for name, start in (("a.svg", b"<svg"), ("a.html", b"<!DOCTYPE html>")):
        write_plot(lake, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(InputError, match=r"\.svg, \.png or \.html"):
        write_plot(lake, tmp_path / "a.gif")
    assert not (tmp_path / "a.gif").exists()
    assert lake._repr_html_().count("<tr>") == 9


@pytest.mark.needs("matplotlib")
def test_a_png_is_one(lake, tmp_path):
    write_plot(lake, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_a_table_and_writes_files(monkeypatch, capsys, tmp_path):
    files = ["--output", tmp_path / "f.json", "--plot", tmp_path / "f.html"]
    assert run(monkeypatch, "front", "frozenlake_4x4", "--leaves", "3", *files) == 0
    printed = capsys.readouterr().out
    assert "all proven optimal" in printed
    assert "random" in printed
    assert "optimal" in printed
    assert len(load_front(tmp_path / "f.json")) == 3
    assert run(monkeypatch, "front", "frozenlake_4x4", "--leaves", "2", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) == 2
    assert run(monkeypatch, "front", "frozenlake_4x4", "--by", "depth", "--depth", "1", "--csv") == 0
    assert capsys.readouterr().out.startswith("n_leaves,depth,value")


def test_a_cost_is_minimised_in_its_own_sense():
    mdp = environment("frozenlake_4x4")
    found = omdt.front(mdp, max_leaf_nodes=4, objective="Pmin=? [F X=1 & Y=1]")
    values = [point.value for point in found]
    assert values == sorted(values, reverse=True)
    assert found.largest.sense == "min"
    assert all(point.bound <= point.value + 1e-9 for point in found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "depth"], "needs a largest depth"),
        ([], "needs a largest size"),
        (["--leaves", "0"], "--leaves is 0"),
        (["--leaves", "1000"], "more than 64 sizes"),
        (["--depth", "30"], "more than 64 sizes"),
        (["--by", "width", "--leaves", "2"], "it must be leaves or depth"),
        (["--leaves", "2", "--plot", "x.gif"], "must end in .svg, .png or .html"),
        (["--leaves", "2", "--json", "--csv"], "exclude each other"),
        (["--leaves", "2", "--plot", "same.html", "--output", "same.html"], "name two files"),
    ],
)
def test_bad_input_is_refused_before_any_work(monkeypatch, capsys, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "front", "frozenlake_4x4", *arguments) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "this is not a front"),
        ('{"format": "omdt-front-1", "by": "leaves", "points": []}', "'points' is empty"),
        ('{"format": "omdt-front-1", "by": "leaves", "points": [3]}', "'points' holds 3"),
        ("{", "is not a JSON file"),
    ],
)
def test_a_file_that_is_no_front_is_refused(tmp_path, text, message):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(InputError, match=message):
        load_front(tmp_path / "f.json")


def test_a_time_limit_keeps_what_was_found():
    found = omdt.front(environment("traffic_intersection"), max_leaf_nodes=6, time_limit=2)
    assert len(found) == 6
    assert found[1].proven
    assert found[6].value > found[1].value
    assert not found[6].proven
    assert found[6].solution.stop is Stop.TIME


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_keeps_what_was_found(monkeypatch, capsys):
    sent = []

    def interrupt(size, point):
        if size.max_leaf_nodes == 8 and not sent:
            sent.append(point)
            signal.raise_signal(signal.SIGINT)

    found = omdt.front(environment("traffic_intersection"), max_leaf_nodes=8, progress=interrupt)
    assert found.interrupted
    assert [point.n_leaves for point in found] == list(range(1, 9))
    assert found[8].solution.stop is Stop.INTERRUPTED
    monkeypatch.setattr("omdt.tradeoffs.front.front", lambda *arguments, **rest: found)
    assert run(monkeypatch, "front", "traffic_intersection", "--leaves", "8", "--json") == 130
    printed = capsys.readouterr()
    assert "interrupted" in printed.err
    assert len(json.loads(printed.out)["points"]) == 8


@pytest.mark.needs("jinja2")
def test_the_report_has_a_section_on_the_front(lake, tmp_path, monkeypatch, capsys):
    omdt.solve(environment("frozenlake_4x4"), max_leaf_nodes=4).save(tmp_path / "four.json")
    lake.save(tmp_path / "front.json")
    assert run(monkeypatch, "report", tmp_path / "four.json", "--front", tmp_path / "front.json") == 0
    page = (tmp_path / "four.html").read_text()
    assert "What simplicity costs" in page
    assert "5 leaves keep 83.3 %" in page
    omdt.front(environment("xor"), max_leaf_nodes=1).save(tmp_path / "other.json")
    assert run(monkeypatch, "report", tmp_path / "four.json", "--front", tmp_path / "other.json") == 2
    assert "another problem" in capsys.readouterr().err

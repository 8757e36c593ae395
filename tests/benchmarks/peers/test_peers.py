"""The comparison runs with whoever is installed, its accounts add up, and what is missing is said aloud."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import service as bare_service
from tests.benchmarks.peers import __main__ as command
from tests.benchmarks.peers import over_http, record, regret, sessions, speed, spending, tuning
from tests.benchmarks.peers.contests import CONTESTS, SPENT
from tests.benchmarks.peers.ours import HOLDFAST, INSURED, TEXTBOOK, Huber, Oful
from tests.benchmarks.peers.play import Job, Run, play
from tests.benchmarks.peers.questions import Entry, Question, Setting, Shape
from tests.benchmarks.peers.roster import MODULES, roster

TINY = command.Plan(
    regret.Setting(40, 2, 2.0, tuning.Trial(40, 1)),
    spending.Setting(30, 2, 2.0, (0.0, 1.0), (0.0, 2.0)),
    over_http.Setting(20, 1, 2.0),
    speed.Setting(((4, 3),), 20, 3, 0.001),
    bare_service.Setting(60, 1, 4),
    sessions.Setting(12, 6, 1, 1),
)


# The libraries' own words for LinUCB with a ridge of 1 and a width that counts once, and what they add to its square.
LINUCB: dict[str, tuple[Setting, float]] = {
    "MABWiser LinUCB": ({"alpha": 1.0, "ridge": 1.0}, 0.0),
    "contextualbandits LinUCB": ({"alpha": 1.0, "ridge": 1.0}, 0.0),
    "river LinUCBDisjoint": ({"prior": 1.0, "precision": 1.0}, 1.0),
}
CLEAR = 1e-3  # a lead that single precision sees


def installed(learner: str) -> Entry:
    if learner not in roster().entries:
        pytest.skip(f"{learner} is not installed")
    return roster().entries[learner]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command.checked, "ROOT", tmp_path)
    monkeypatch.setattr(command, "PAGE", tmp_path / "peers")
    return tmp_path


def test_everything_runs_to_its_end_says_who_is_missing_and_becomes_a_page(folder: Path) -> None:
    said = command.run(TINY, 30.0).sections
    for package in roster().missing:
        assert f"NOT COMPARED: {package}" in said["who"]
    targets = "\n".join(said.values())
    for name in ("fixed catalogue", "cold item", "clicks"):
        assert re.search(rf"^{name}: .*\(.*: (yes|NO)\)$", targets, flags=re.MULTILINE)
    drawn = (folder / "peers" / "report.html").read_text(encoding="utf-8")
    assert drawn.count("<svg") == len(CONTESTS) + len(SPENT) + 1
    assert "http://" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_everyone_is_on_the_roster_or_said_to_be_missing() -> None:
    assert set(roster().versions) | set(roster().missing) == set(MODULES)
    assert set(TEXTBOOK) <= set(roster().entries)


@pytest.mark.parametrize("learner", [*HOLDFAST, *roster().entries])
@pytest.mark.parametrize("contest", CONTESTS)
def test_a_run_is_the_same_to_the_digit_and_nobody_overspends(contest: str, learner: str) -> None:
    setting = roster().entries[learner].grid[0] if learner in roster().entries else {}
    job = Job(contest, learner, setting, 3, 15, 2.0, 2.0)
    one, other = play(job), play(job)
    assert (one.early, one.late, one.spent) == (other.early, other.late, other.spent)
    assert 0.0 <= one.early <= one.late
    assert one.spent <= 2.0 + 1e-9
    assert (np.diff(one.curve) >= 0.0).all()


def test_who_has_a_model_for_each_arm_is_given_what_the_rows_are_made_of() -> None:
    environment, layout = CONTESTS["digits"].world(1, 100), CONTESTS["digits"].layout()
    shape, asked = layout.shape(environment), layout.question(environment.round(0))
    assert asked.context is not None
    assert asked.rows.shape == (shape.arms, shape.dimension)
    for arm, row in enumerate(asked.rows.reshape(shape.arms, shape.arms, -1)):
        np.testing.assert_array_equal(row[arm], asked.context)
        assert not np.delete(row, arm, axis=0).any()


@pytest.mark.parametrize("is_shared", [False, True], ids=["one model", "a model for each arm"])
@pytest.mark.parametrize("learner", LINUCB)
def test_a_library_behind_its_wrapper_chooses_what_the_textbook_does(learner: str, is_shared: bool) -> None:
    setting, added = LINUCB[learner]
    arms, d, rng = 4, 3, np.random.default_rng(5)
    shape = Shape(arms * d, arms, d) if is_shared else Shape(d, arms)
    peer, clear = installed(learner).make(shape, setting, 1), 0
    information, total = np.eye(shape.dimension), np.zeros(shape.dimension)
    for t in range(200):
        context = rng.normal(size=d)
        asked = Question(np.kron(np.eye(arms), context), context) if is_shared else Question(rng.normal(size=(arms, d)))
        inverse = np.linalg.inv(information)
        widths = np.sqrt(added + np.einsum("ki,ij,kj->k", asked.rows, inverse, asked.rows))
        scores = asked.rows @ inverse @ total + widths
        second, first = np.sort(scores)[-2:]
        if t >= 2 * arms and first - second > CLEAR:
            clear += 1
            assert peer.choose(asked, t) == scores.argmax()
        chosen, reward = t % arms, float(rng.random())
        peer.learn(asked, chosen, reward)
        information += np.outer(asked.rows[chosen], asked.rows[chosen])
        total += reward * asked.rows[chosen]
    assert clear > 100


@pytest.mark.parametrize("is_shared", [False, True], ids=["rows", "a context for all"])
def test_vowpal_wabbit_is_told_what_the_chosen_action_was_worth(is_shared: bool) -> None:
    rows, best = np.eye(4), 2
    asked = Question(rows, np.ones(1)) if is_shared else Question(rows)
    shape = Shape(4, 4, 1) if is_shared else Shape(4, 4)
    peer = installed("Vowpal Wabbit").make(shape, {"exploration": "epsilon", "size": 0.05, "rate": 0.5}, 1)
    choices = []
    for t in range(300):
        choices.append(peer.choose(asked, t))
        peer.learn(asked, choices[-1], 1.0 if choices[-1] == best else 0.0)
    assert choices[-100:].count(best) > 80


def test_oful_is_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    x, y, oful = rng.normal(size=(50, 3)), rng.random(50), Oful(Shape(3, 2), 0.1, 0.5)
    for row, reward in zip(x, y, strict=True):
        oful.learn(Question(row[None]), 0, float(reward))
    np.testing.assert_allclose(oful.theta, np.linalg.solve(x.T @ x + 0.5 * np.eye(3), x.T @ y))
    np.testing.assert_allclose(oful.log_det, np.linalg.slogdet(np.eye(3) + x.T @ x / 0.5)[1])


def test_the_robust_regression_shrugs_at_lies_that_move_ridge_regression() -> None:
    rng, truth = np.random.default_rng(1), np.array([0.5, 0.3])
    huber, oful = Huber(Shape(2, 2), 0.1, 0.1, 0.1), Oful(Shape(2, 2), 0.1, 0.1)
    for t in range(300):
        row = rng.random(2)
        told = 0.0 if t % 10 == 5 else float(row @ truth + 0.01 * rng.normal())
        for learner in (huber, oful):
            learner.learn(Question(row[None]), 0, told)
    moved = [np.linalg.norm(theta - truth) for theta in (huber.fit.theta, oful.theta)]
    assert moved[0] < 0.5 * moved[1]


def test_a_row_that_a_peer_wins_stays_and_is_named() -> None:
    runs = {INSURED: 9.0, "Huber LinUCB": 5.0, "OFUL": 20.0}
    results = {(c, n): [Run(late / 2, late, 1.0, np.zeros(2))] for c in CONTESTS for n, late in runs.items()}
    said = "\n".join(regret.must_show(results))
    assert (
        "fixed catalogue: the lowest median at 4T has Huber LinUCB (5; insured Holdfast 9) (insured Holdfast: NO)"
        in said
    )
    assert "×1.80 the regret of the best peer (Huber LinUCB, 5) (≤ 0.5: NO)" in said
    assert "- digits: insured Holdfast 9; Huber LinUCB 5" in said
    assert "**5**" in regret.summary_table(results)


def test_the_record_keeps_targets_that_were_missed() -> None:
    body = f"# T\n\nat commit x\n\n{regret.SUMMARY_TITLE}\n\n| a |\n\nfoo (≤ 1: NO)\nbar (≤ 2: yes)\nno target\n\n"
    summary = record.summary_of(
        body + "Rows where a peer beats insured Holdfast (median at 4T):\n\n- digits: us 9\n\nend"
    )
    assert "- foo (≤ 1: NO)\n- bar (≤ 2: yes)\n" in summary
    assert "at commit x" in summary
    assert "- digits: us 9" in summary
    assert "no target" not in summary

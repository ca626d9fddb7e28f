"""Every URDF below a folder, imported and compared with pinocchio: tip, weights, mass matrix; and what is refused, why.

Where the digits of an angle leave two axes a hair off parallel, the file is read with rounded quarter turns as whole
ones, and pinocchio gets a copy in which they stand so. For once, pinocchio is not asked, but a plain computation.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from _bench_common import Effort, peer_python, verdict

import hil
from hil.errors import ConfigError
from hil.model._urdf_file import NOISE, quarter_turn
from hil.model.transforms import random_q
from hil.model.urdf import UrdfRobot, read_urdf

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

POSES = (20, 5, 2)
SEED = 20
ALLOWED = 1e-9
"""Of metres, elements of rotations, N m and kg m2; of the peer's largest number where that is above 1."""

WORDS = re.compile(r"-?\b\d[\d.e+-]*\b|(?<=link )\S+(?=:)")


class Read(NamedTuple):
    """A file that was imported.

    Attributes:
        peer_file: what the peer reads.
        rounded: whether quarter turns are whole ones.
        q: configurations, (poses, joints).
    """

    name: str
    found: UrdfRobot
    peer_file: Path
    rounded: bool
    q: list[list[float]]


class Row(NamedTuple):
    """A line of the table; a difference is None where there is nothing to compare."""

    name: str
    chain: str
    joints: int
    rounded: bool
    pose: float | None
    weights: float | None
    masses: float | None
    remark: str

    @property
    def worst(self) -> float:
        """The largest difference."""
        return max((each for each in (self.pose, self.weights, self.masses) if each is not None), default=float("nan"))


def run(effort: Effort, corpus: Path | None = None) -> bool:
    """True if everything that was imported agrees."""
    with tempfile.TemporaryDirectory() as folder:
        if corpus is None:
            if effort is not Effort.ONCE:
                raise SystemExit("bench import: --corpus FOLDER is needed, with URDF files at any depth")
            corpus = Path(folder) / "corpus"
            _small_corpus(corpus)
        read, refused, twice = _read_all(corpus, effort.of(*POSES), Path(folder))
        answers = map(_by_hand, read) if effort is Effort.ONCE else _by_pinocchio(read)
        rows = [_row(each, answer) for each, answer in zip(read, answers, strict=True)]
    _show(rows, refused, twice)
    off = [row for row in rows if not row.worst <= ALLOWED]
    words = f"{len(rows) - len(off)} of {len(rows)} imported files agree to {ALLOWED:g}; {len(refused)} refused"
    return verdict(bool(rows) and not off, words)


# -- ours ------------------------------------------------------------------------------------------------


def _read_all(corpus: Path, poses: int, folder: Path) -> tuple[list[Read], dict[str, ConfigError], int]:
    """What could be imported, what was refused, and how many files were the same as another."""
    read: list[Read] = []
    refused: dict[str, ConfigError] = {}
    seen: set[bytes] = set()
    files = [each for each in sorted(corpus.rglob("*")) if each.suffix.lower() == ".urdf" and each.is_file()]
    for file in files:
        digest = hashlib.sha256(file.read_bytes()).digest()
        if digest in seen:
            continue
        seen.add(digest)
        name = file.relative_to(corpus).as_posix()
        try:
            read.append(_read(file, name, poses, folder / f"{len(read)}.urdf"))
        except ConfigError as error:
            refused[name] = error
    return read, refused, len(files) - len(seen)


def _read(file: Path, name: str, poses: int, copy: Path) -> Read:
    rounded = False
    try:
        found = read_urdf(file, propose=True, as_written=True)
    except ConfigError as error:
        if "parallel" not in error.allowed:
            raise
        rounded, found = True, read_urdf(file, propose=True)
        copy.write_bytes(_with_quarter_turns(file))
    generator = np.random.default_rng(SEED)
    return Read(
        name, found, copy if rounded else file, rounded, [random_q(found.model, generator) for _ in range(poses)]
    )


def _with_quarter_turns(file: Path) -> bytes:
    """The file with the digits that it is read with."""
    tree = ElementTree.parse(file)
    for origin in tree.iter("origin"):
        if "rpy" in origin.attrib:
            angles = [quarter_turn(word, float(word)) for word in origin.attrib["rpy"].split()]
            origin.attrib["rpy"] = " ".join(map(repr, angles))
    for axis in tree.iter("axis"):
        if "xyz" in axis.attrib:
            values = [float(word) for word in axis.attrib["xyz"].split()]
            noise = NOISE * float(np.linalg.norm(values))
            axis.attrib["xyz"] = " ".join(repr(0.0 if abs(value) < noise else value) for value in values)
    return ElementTree.tostring(tree.getroot())


def _row(each: Read, answer: dict[str, Any]) -> Row:
    found = each.found
    chain = f"{found.base} → {found.tip}"
    fingers = next((end.gripper for end in found.ends if end.link == found.tip), ())
    remark = f"gripper of {len(fingers)}" if fingers else ""
    if "error" in answer:
        # It reads more strictly what has nothing to do with the chain.
        remark, answer = "not read by pinocchio: held against a plain computation", _by_hand(each)
    robot = hil.Robot(found.model)
    pose = _worst([robot.forward_kinematics(q) for q in each.q], answer["poses"])
    weights = masses = None
    if found.model.inertia is None:
        remark = "; ".join(filter(None, (remark, found.model.inertia_status or "no masses in the file")))
    else:
        weights = _worst([robot.gravity_torque(q) for q in each.q], answer["weights"])
        if all(link.inertia_kg_m2 is not None for link in found.model.inertia):
            masses = _worst([robot.mass_matrix(q) for q in each.q], answer["masses"])
        else:
            remark = "; ".join(filter(None, (remark, "no moments of inertia in the file")))
    return Row(each.name, chain, found.model.dof, each.rounded, pose, weights, masses, remark)


def _worst(ours: Sequence[npt.ArrayLike], theirs: npt.ArrayLike) -> float:
    wanted = np.array(theirs)
    return float(np.max(np.abs(np.array(ours) - wanted)) / np.max(np.abs(wanted), initial=1.0))


# -- theirs ----------------------------------------------------------------------------------------------


def _job(each: Read) -> dict[str, Any]:
    joints = [joint.name for joint in each.found.model.joints]
    return {"file": str(each.peer_file), "tip": each.found.tip, "joints": joints, "q": each.q}


def _by_pinocchio(read: Sequence[Read]) -> Iterator[dict[str, Any]]:
    """What pinocchio says; a file that ends its process ends that alone."""
    python = peer_python("pinocchio", ("pin",))
    script = Path(__file__).parent / "peers" / "urdf_peer.py"
    waiting = list(read)
    told = False
    while waiting:
        command = [str(python), str(script)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
            assert peer.stdin is not None and peer.stdout is not None
            version = json.loads(peer.stdout.readline())["version"]
            if not told:
                print(f"pinocchio {version}, {len(read)} files")
                told = True
            while waiting:
                peer.stdin.write(json.dumps(_job(waiting.pop(0))) + "\n")
                peer.stdin.flush()
                line = peer.stdout.readline()
                if not line:
                    yield {"error": "its process ended on this file"}
                    break
                yield json.loads(line)
            peer.stdin.close()


def _by_hand(each: Read) -> dict[str, Any]:
    import urdf_by_hand

    tree, job = urdf_by_hand.Tree(each.peer_file.read_bytes()), _job(each)
    both = [tree.dynamics(job["joints"], q) for q in each.q]
    return {
        "poses": [tree.pose(job["tip"], dict(zip(job["joints"], q, strict=True))) for q in each.q],
        "weights": [weights for weights, _ in both],
        "masses": [matrix for _, matrix in both],
    }


def _small_corpus(folder: Path) -> None:
    """A few trees of chance, one file that is none, and one twice."""
    import urdf_trees

    folder.mkdir()
    for seed in range(4):
        text = urdf_trees.random_tree(np.random.default_rng(seed)).text
        (folder / f"tree-{seed}.urdf").write_text(text)
    (folder / "again.URDF").write_text(text)
    (folder / "none.urdf").write_text("<sdf/>")


# -- shown -----------------------------------------------------------------------------------------------


def _show(rows: Sequence[Row], refused: dict[str, ConfigError], twice: int) -> None:
    print(f"{len(rows) + len(refused)} files, {twice} more that are the same as one of them\n")
    folders = Counter(row.name.partition("/")[0] for row in rows)
    missing = Counter(name.partition("/")[0] for name in refused)
    print("| folder | imported | with masses | refused |\n|---|---|---|---|")
    for folder in sorted({*folders, *missing}):
        heavy = sum(row.name.partition("/")[0] == folder and row.weights is not None for row in rows)
        print(f"| {folder} | {folders[folder]} | {heavy} | {missing[folder]} |")
    print()
    print("| file | chain | joints | tip | weights | mass matrix | |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        differences = " | ".join(_number(each) for each in (row.pose, row.weights, row.masses))
        remark = "; ".join(part for part in ("quarter turns" if row.rounded else "", _cell(row.remark)) if part)
        print(f"| {row.name} | {_cell(row.chain)} | {row.joints} | {differences} | {remark} |")
    counts = Counter(_kind(error) for error in refused.values())
    print("\n| refused for | files |\n|---|---|")
    for kind, count in counts.most_common():
        print(f"| {_cell(kind)} | {count} |")
    print("\n| refused | why |\n|---|---|")
    for name, error in refused.items():
        print(f"| {name} | {_cell(_why(name, error))} |")
    print()


def _why(name: str, error: ConfigError) -> str:
    """A refusal without the place of the file; short where it is no arm."""
    if error.key == "joint" and isinstance(error.value, str):
        return error.value
    return str(error).removeprefix(f"{error.file}: ").replace(error.file, Path(name).name)


def _kind(error: ConfigError) -> str:
    """A refusal without the names and numbers of its file."""
    if str(error.value).startswith("a gripper alone"):
        return "a gripper alone"
    if error.key.endswith(">"):
        return "Xacro that is used"
    if error.key == "joint" and isinstance(error.value, str):
        return error.value
    return WORDS.sub("N", f"{error.key.rpartition(': ')[2]}: {error.allowed.partition(' on the way')[0]}")


def _cell(text: str) -> str:
    short = text if len(text) <= 240 else f"{text[:237]}..."
    return short.replace("|", "/").replace("\n", " ")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.0e}"

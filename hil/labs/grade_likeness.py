"""How much submissions are alike: runs of words that they share, whatever names and remarks are. A hint, no proof."""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, islice

from hil.labs.grade_records import Submission
from hil.types import Record

LENGTH = 8
"""Words in a run: shorter ones are shared by all who write the same language."""

LEAST_RUNS = 20
COMMON_SHARE = 0.5
"""A run that is in more of all submissions than that is the exercise's, or its template's."""

LARGE_CLASS = 8
"""Below so many submissions nothing counts as common."""

LOOKED_AT = (".py", ".toml", ".mb4", ".mb5", ".prg")
MOST_BYTES = 200_000
MOST_WORDS = 20_000
"""Of one submission, in equal parts of its files: students write less, and each run of words costs memory."""

_WORD = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[^\s\w]")
_KNOWN = frozenset(keyword.kwlist) | frozenset(dir(builtins))


class Likeness(Record, frozen=True):
    """Two submissions of which much is the same.

    Attributes:
        share: of the runs of words of the shorter one, those that are in the other too, 0 to 1.
        same: file for file the same bytes.
    """

    first: str
    second: str
    share: float
    same: bool


def alike(submissions: Sequence[Submission], least: float) -> list[Likeness]:
    """All pairs with a share of at least `least`, the most alike first."""
    read = [each for each in submissions if each.files]
    runs = [_runs(each) for each in read]
    if len(read) >= LARGE_CLASS:
        counts = Counter(run for each in runs for run in each)
        common = {run for run, count in counts.items() if count > COMMON_SHARE * len(read)}
        runs = [each - common for each in runs]
    found = []
    for (one, ours), (other, theirs) in combinations(zip(read, runs, strict=True), 2):
        same = one.files == other.files
        shorter = min(len(ours), len(theirs))
        share = 1.0 if same else len(ours & theirs) / shorter if shorter >= LEAST_RUNS else 0.0
        if share >= least:
            found.append(Likeness(first=one.student, second=other.student, share=share, same=same))
    return sorted(found, key=lambda each: (-each.share, each.first, each.second))


def _runs(submission: Submission) -> frozenset[int]:
    """Every run of words, as a number of eight bytes."""
    found = set()
    names = [name for name in sorted(submission.files) if name.lower().endswith(LOOKED_AT)]
    for name in names:
        words = _words(name, submission.files[name], MOST_WORDS // len(names))
        for k in range(len(words) - LENGTH + 1):
            text = "\0".join(words[k : k + LENGTH]).encode()
            found.add(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big"))
    return frozenset(found)


def _words(name: str, data: bytes, most: int) -> list[str]:
    text = data[:MOST_BYTES].decode("utf-8", errors="replace")
    python = name.endswith(".py")
    remark = r"#[^\n]*" if python or name.endswith(".toml") else r"'[^\n]*"
    text = re.sub(remark, "", text)
    words = [found[0] for found in islice(_WORD.finditer(text), most)]
    # Names that a student chose are all one name: to give them other ones is no work.
    return ["n" if python and _is_chosen(word) else word.lower() for word in words]


def _is_chosen(word: str) -> bool:
    return (word[0].isalpha() or word[0] == "_") and word not in _KNOWN

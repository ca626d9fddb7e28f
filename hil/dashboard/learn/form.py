"""Fields that belong together: each says what is wrong with it, the last good values stay in use, undo goes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from hil.dashboard.learn.fields import Field
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.errors import HilError
from hil.lessons.faults import FieldErrors
from hil.lessons.history import History

Values = dict[str, str]


class FieldKind(NamedTuple):
    """One field.

    Attributes:
        key: for programs; never translated.
        name: for people.
        tip: what may stand there.
    """

    key: str
    name: str
    tip: str = ""


class Form(QWidget):
    """Texts by their keys.

    Signals:
        changed: the good values are others.
    """

    changed = Signal()

    def __init__(
        self, kinds: Sequence[FieldKind], values: Mapping[str, str], check: Callable[[Mapping[str, str]], object]
    ) -> None:
        """Make the fields.

        Args:
            kinds: in their order.
            values: texts at first, which have to be good ones.
            check: raises `FieldErrors`, or another HilError where it does not know the field; quick.
        """
        super().__init__()
        self._check = check
        self.fields: dict[str, Field] = {}
        first = {kind.key: values.get(kind.key, "") for kind in kinds}
        self.good: Values = dict(first)
        self._history: History[tuple[tuple[str, str], ...]] = History(tuple(first.items()))
        self._latest: list[str] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        for kind in kinds:
            field = self.fields[kind.key] = Field(kind.name, first[kind.key], kind.tip)
            field.typed.connect(lambda _text, key=kind.key: self._typed(key))
            column.addWidget(field)
        widest = max((field.label.sizeHint().width() for field in self.fields.values()), default=0)
        for field in self.fields.values():
            field.label.setMinimumWidth(widest)

    @property
    def typed(self) -> Values:
        """As the fields are, right or wrong."""
        return {key: field.text for key, field in self.fields.items()}

    @property
    def trouble(self) -> str:
        """Why nothing long is begun now: it would be for the last good text, not for what is typed."""
        wrong = [self.fields[key].name for key in self._faults(self.typed)]
        return tr("{fields}: wrong; mend it first", fields=", ".join(wrong)) if wrong else ""

    def take(self, values: Mapping[str, str]) -> None:
        """Other texts, as if they were typed all at once."""
        for key, text in values.items():
            if key in self.fields:
                self.fields[key].set_text(text)
        self._latest = []
        self._history.add(tuple(self.typed.items()))
        self._judge()

    def renew(self, values: Mapping[str, str]) -> None:
        """Other texts for another arm: there is no way back to what was typed for the one before."""
        for key, field in self.fields.items():
            field.set_text(values.get(key, ""))
            field.say("")
        self.good = self.typed
        self._history = History(tuple(self.good.items()))
        self._latest = []

    def keep_or_renew(self, values: Mapping[str, str]) -> None:
        """For an arm much like the one before: what was typed stays, with its undo, unless it is wrong there."""
        if not self._history.is_begun:
            self.renew(values)
            return
        try:
            self._check(self.good)
        except HilError:
            self.renew(values)
        else:
            self._judge()

    def undo(self) -> None:
        """The texts before the last change."""
        if self._history.back():
            self._restore()

    def redo(self) -> None:
        """The texts that were taken back."""
        if self._history.forth():
            self._restore()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        for field in self.fields.values():
            field.set_theme(theme)

    def _restore(self) -> None:
        for key, text in self._history.now:
            self.fields[key].set_text(text)
        self._judge()

    def _typed(self, key: str) -> None:
        self._latest = [*(each for each in self._latest if each != key), key]
        self._history.add(tuple(self.typed.items()))
        self._judge()

    def _judge(self) -> None:
        """Say what is wrong where it is; what is right counts, with the last good text in place of what is not."""
        faults = self._faults(self.typed)
        for key, field in self.fields.items():
            field.say(faults.get(key, ""))
        candidate = {key: self.good[key] if key in faults else text for key, text in self.typed.items()}
        if faults and self._faults(candidate):
            return
        if candidate != self.good:
            self.good = candidate
            self.changed.emit()

    def _faults(self, values: Values) -> dict[str, str]:
        """Words by field; empty where all is right."""
        found: dict[str, str] = {}
        tried = dict(values)
        for _ in self.fields:
            try:
                self._check(tried)
            except FieldErrors as errors:
                new = {fault.field: _words(fault.words, fault.column) for fault in errors.faults}
            except HilError as error:
                new = {self._blamed(tried): str(error)}
            else:
                return found
            new = {key if key in self.fields else next(iter(self.fields)): words for key, words in new.items()}
            if not new.keys() - found.keys():
                return found
            found = {**new, **found}
            tried = {key: self.good[key] if key in found else text for key, text in values.items()}
        return found

    def _blamed(self, values: Values) -> str:
        """The field that makes good values bad: they are taken over one by one, the latest at last."""
        tried = dict(self.good)
        changed = [key for key, text in values.items() if text != self.good[key]]
        for key in sorted(changed, key=lambda key: self._latest.index(key) if key in self._latest else -1):
            tried[key] = values[key]
            try:
                self._check(tried)
            except HilError:
                return key
        return changed[-1] if changed else next(iter(self.fields))


def _words(words: str, column: int | None) -> str:
    return words if column is None else f"column {column}: {words}"

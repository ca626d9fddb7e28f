"""Telling marks to learning systems (LTI AGS): one after the other, until each has answered, over any number of starts.

pylti1p3next asks for leave, finds or makes the column and sends the score; here stands what follows from the answers.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hil.clock import monotonic_s
from hil.errors import MissingExtraError
from hil.service.lti_book import Errand, LtiBook, MarkState
from hil.service.lti_line import line_to_platforms
from hil.service.lti_settings import PlatformSettings

try:
    import requests
    from pylti1p3.assignments_grades import AssignmentsGradesService
    from pylti1p3.exception import LtiException, LtiServiceException
    from pylti1p3.grade import Grade
    from pylti1p3.lineitem import LineItem
    from pylti1p3.registration import Registration
    from pylti1p3.service_connector import ServiceConnector
    from pylti1p3.tool_config.dict import ToolConfDict
except ImportError:
    raise MissingExtraError("course pages of a learning system", "lti", needs="needs") from None

FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 1800.0
"""After the first trouble with a system, and at most."""

AT_ONCE = 50
_EARLIER_S = 60.0
"""A token is asked for anew so long before it ends."""

_TRANSIENT = frozenset({401, 408, 425, 429})
"""Answers after which the same may be taken later; others are about this one mark."""


class _Connector(ServiceConnector):
    """Keeps a system's leave for as long as it counts."""

    def __init__(self, registration: Registration, line: requests.Session, clock: Callable[[], float]) -> None:
        super().__init__(registration, line)
        self._clock = clock
        self._tokens: dict[str, tuple[str, float]] = {}

    def _get_cached_access_token(self, scope_key: str) -> str | None:
        token, until_s = self._tokens.get(scope_key, (None, 0.0))
        return token if self._clock() < until_s else None

    def _cache_access_token(self, scope_key: str, access_token: str, expires_in: float) -> None:
        self._tokens[scope_key] = (access_token, self._clock() + float(expires_in) - _EARLIER_S)

    def forget(self) -> None:
        """The system does not take it any more."""
        self._tokens.clear()


class _Patience:
    """How long to leave a system alone that has trouble: longer each time, and from the beginning once it has none."""

    def __init__(self) -> None:
        self._troubles = 0
        self._until_s = float("-inf")

    def over(self, now_s: float) -> bool:
        return now_s >= self._until_s

    def trouble(self, now_s: float) -> None:
        self._until_s = now_s + min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**self._troubles)
        self._troubles = min(self._troubles + 1, 30)

    def fine(self) -> None:
        self._troubles, self._until_s = 0, float("-inf")


class MarkPost:
    """Sends what waits in the book. One thread at a time; nothing but the book is remembered over a restart.

    Args:
        book: with the marks.
        platforms: learning systems, by their short names.
        config: the same for the library.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        book: LtiBook,
        platforms: Mapping[str, PlatformSettings],
        config: ToolConfDict,
        *,
        clock: Callable[[], float] = monotonic_s,
    ) -> None:
        self._book, self._clock = book, clock
        line = line_to_platforms()
        self._connectors = {
            name: _Connector(config.find_registration_by_params(each.issuer, each.client_id), line, clock)
            for name, each in platforms.items()
        }
        self._patience = {name: _Patience() for name in platforms}

    def send(self) -> int:
        """Send what can be sent now; gives how many marks the systems have taken."""
        return sum(self._deliver(errand) for errand in self._due())

    def _due(self) -> Iterator[Errand]:
        for errand in self._book.errands(AT_ONCE):
            patience = self._patience.get(errand.platform)
            if patience is None:
                words = f"lab.toml names no learning system {errand.platform} any more"
                self._book.note(errand.id, MarkState.REFUSED, words)
            elif patience.over(self._clock()):
                yield errand

    def _deliver(self, errand: Errand) -> bool:
        patience = self._patience[errand.platform]
        try:
            self._ask_leave(errand)
        except (LtiException, requests.RequestException, KeyError, TypeError, ValueError) as error:
            # Whatever it is, it is about the system and this lab, and of no mark's making.
            self._later(errand, f"no leave to send: {error}")
            return False
        try:
            self._book.trying(errand.id)
            self._put(errand)
        except LtiServiceException as error:
            code = error.response.status_code
            if code == 409 and self._has_it(errand):
                patience.fine()
                self._book.note(errand.id, MarkState.SENT)
                return True
            if code in _TRANSIENT or code >= 500:
                self._later(errand, f"answer {code}")
            else:
                words = "the system has a newer mark, or one by hand" if code == 409 else f"answer {code}"
                self._book.note(errand.id, MarkState.REFUSED, words)
            return False
        except requests.RequestException as error:
            self._later(errand, type(error).__name__)
            return False
        except (LtiException, KeyError, TypeError, ValueError, AssertionError) as error:
            self._book.note(errand.id, MarkState.REFUSED, str(error) or type(error).__name__)
            return False
        patience.fine()
        self._book.note(errand.id, MarkState.SENT)
        return True

    def _later(self, errand: Errand, words: str) -> None:
        self._connectors[errand.platform].forget()
        self._patience[errand.platform].trouble(self._clock())
        self._book.note(errand.id, MarkState.WAITING, words)

    def _ask_leave(self, errand: Errand) -> None:
        self._connectors[errand.platform].get_access_token(errand.service.get("scope", ()))

    def _service(self, errand: Errand) -> AssignmentsGradesService:
        service: Any = errand.service
        return AssignmentsGradesService(self._connectors[errand.platform], service)

    def _put(self, errand: Errand) -> None:
        grade = (
            Grade()
            .set_score_given(errand.points)
            .set_score_maximum(errand.most)
            .set_timestamp(
                datetime.datetime.fromtimestamp(errand.stamp_s, datetime.UTC).isoformat(timespec="milliseconds")
            )
            .set_activity_progress("Completed")
            .set_grading_progress("FullyGraded")
            .set_user_id(errand.subject)
        )
        self._service(errand).put_grade(grade, self._column(errand))

    def _column(self, errand: Errand) -> LineItem | None:
        """Where the activity has no column of its own: the one of this exercise, made at the first mark."""
        if errand.service.get("lineitem"):
            return None
        column = (
            LineItem()
            .set_tag(errand.exercise)
            .set_resource_id(errand.exercise)
            .set_label(errand.exercise)
            .set_score_maximum(errand.most)
            .set_resource_link_id(errand.link)
        )
        return self._service(errand).find_or_create_lineitem(
            column, condition=lambda item: item.get("tag") == errand.exercise and _same_link(item, errand.link)
        )

    def _has_it(self, errand: Errand) -> bool:
        """Whether what the system has is this very mark: an answer that was lost on its way is no refusal."""
        service = self._service(errand)
        if not service.can_read_grades():
            # Nobody can look; one that was sent before has most likely arrived then.
            return errand.tries > 0
        try:
            column = self._column(errand)
            return any(_is_same(errand, result) for result in service.get_grades(column))
        except (LtiException, requests.RequestException):
            return False


def _same_link(item: Mapping[str, Any], link: str) -> bool:
    return item.get("resourceLinkId") in (None, "", link)


def _is_same(errand: Errand, result: Mapping[str, Any]) -> bool:
    score, most = result.get("resultScore"), result.get("resultMaximum") or 1.0
    if result.get("userId") != errand.subject or not isinstance(score, int | float):
        return False
    return bool(abs(score / most - errand.points / errand.most) < 1e-4)

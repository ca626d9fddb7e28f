"""A request over HTTP that is answered with a refusal."""

from __future__ import annotations

from hil.errors import HilError
from hil.service.wire import Code


class RefusedRequestError(HilError):
    """It is not done; the text is for whoever asked.

    Attributes:
        code: for programs.
    """

    def __init__(self, code: Code, reason: str) -> None:
        self.code = code
        super().__init__(reason)

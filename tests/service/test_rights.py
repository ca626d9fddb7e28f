"""Who may do what, every pair of it."""

import pytest

from hil.service import wire
from hil.service.gate import ACTIONS
from hil.service.rights import MAY, Action, Role, may, who_may

TABLE = {
    Action.WATCH: "watch drive teach maintain",
    Action.STOP: "watch drive teach maintain",
    Action.PULL: "watch drive teach maintain",
    Action.BOOK: "drive teach maintain",
    Action.CLAIM: "drive teach maintain",
    Action.UPLOAD: "drive teach maintain",
    Action.JOG: "drive teach maintain",
    Action.RUN: "drive teach maintain",
    Action.FREEZE: "teach maintain",
    Action.RESET: "teach maintain",
    Action.CONFIRM: "teach maintain",
    Action.AUDIT: "teach maintain",
    Action.TAKE_OVER: "teach",
    Action.TELL: "teach maintain",
    Action.MARK: "teach",
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("action", Action)
def test_each_role_may_what_the_table_says(role: Role, action: Action) -> None:
    assert may(role, action) == (role.value in TABLE[action].split())


def test_the_table_cannot_be_changed_while_the_server_runs() -> None:
    with pytest.raises(TypeError):
        MAY[Role.WATCH] = frozenset(Action)  # type: ignore[index]


def test_a_refusal_can_say_who_may() -> None:
    assert who_may(Action.CONFIRM) == "teach or maintain"


def test_every_message_is_an_attempt_at_something() -> None:
    assert set(ACTIONS) == set(wire.CLIENT_MESSAGES)

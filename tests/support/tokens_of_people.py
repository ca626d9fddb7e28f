"""Tokens for the people of tests, for ten minutes from now."""

from __future__ import annotations

import time

import msgspec
from lab_server import TOKEN_KEY

from hil.service.grants import Grant
from hil.service.rights import Role
from hil.service.tokens import issue


def grant(user: str, role: Role = Role.DRIVE, **changes: object) -> Grant:
    now_s = int(time.time())
    made = Grant(
        token_id=f"{abs(hash(user)) % (1 << 64):016x}",
        user=user,
        arms=("arm-1",),
        role=role,
        speed_share=0.5,
        box=None,
        issued_s=now_s - 10,
        not_before_s=now_s - 10,
        expires_s=now_s + 600,
    )
    return msgspec.structs.replace(made, **changes)


def token(user: str, role: Role = Role.DRIVE, **changes: object) -> str:
    return issue(grant(user, role, **changes), TOKEN_KEY)

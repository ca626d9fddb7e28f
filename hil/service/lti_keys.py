"""The key by which learning systems know this lab: RSA, since LTI 1.3 asks for RS256; for its owner alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hil.errors import ConfigError, MissingExtraError
from hil.service.secret_files import read_secret, write_secret

try:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from pylti1p3.registration import Registration
except ImportError:
    raise MissingExtraError("course pages of a learning system", "lti", needs="needs") from None

_BITS = 2048
"""What all systems take; nothing here has to stay secret for longer than a term."""


class ToolKey:
    """Signs what this lab says to learning systems. Shows nothing of itself when printed.

    Attributes:
        private_pem: for the library that signs.
        public_pem: for a system that cannot fetch it.
    """

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        encoding = serialization.Encoding.PEM
        self.private_pem = key.private_bytes(
            encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        self.public_pem = (
            key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        )

    def __repr__(self) -> str:
        return "ToolKey()"

    @classmethod
    def make(cls, path: Path) -> ToolKey:
        """A new key in a new file that only its owner can read.

        Raises:
            ConfigError: there is one already, or the place cannot be written to.
        """
        made = cls(rsa.generate_private_key(public_exponent=65537, key_size=_BITS))
        write_secret(path, made.private_pem.encode())
        return made

    @classmethod
    def load(cls, path: Path) -> ToolKey:
        """Read a PEM file that nobody but its owner may read.

        Raises:
            ConfigError: it cannot be read, others may read it, or it holds no RSA key that is long enough.
        """
        allowed = f"an RSA key of {_BITS} bits or more as PEM without passphrase, as `hil lti tool` writes it"
        try:
            key = serialization.load_pem_private_key(read_secret(path), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise ConfigError(str(path), "file", "something else", allowed) from None
        if not isinstance(key, rsa.RSAPrivateKey) or key.key_size < _BITS:
            raise ConfigError(str(path), "file", "a key of another kind", allowed)
        return cls(key)

    @property
    def key_set(self) -> dict[str, Any]:
        """The public half as learning systems fetch it (RFC 7517)."""
        return {"keys": [dict(Registration.get_jwk(self.public_pem))]}

    @property
    def key_set_text(self) -> str:
        """The same, to be pasted."""
        return json.dumps(self.key_set, indent=1)

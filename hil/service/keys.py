"""Ed25519 keys in files: who holds the signing key lets people in; who holds the public key can only check."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hil.errors import ConfigError, MissingExtraError
from hil.service.secret_files import read_secret, write_secret

try:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from jwt import PyJWS, PyJWTError
except ImportError:
    raise MissingExtraError("sharing arms over the network", "service") from None

_ALGORITHM = "EdDSA"
_TYPE = "hil-token"


class PublicKey:
    """Checks what the signing key of the same pair has signed.

    Attributes:
        id: short name made of the key itself, for messages and for finding the right one of several.
    """

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key
        self.id = hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"PublicKey({self.id})"

    @classmethod
    def load(cls, path: Path) -> PublicKey:
        """Read a PEM file.

        Raises:
            ConfigError: it cannot be read, or holds no Ed25519 public key.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be read") from None
        return cls.from_pem(data, str(path))

    @classmethod
    def from_pem(cls, data: bytes, file: str) -> PublicKey:
        """Read PEM text; `file` is its name for messages.

        Raises:
            ConfigError: it holds no Ed25519 public key.
        """
        allowed = "an Ed25519 public key as PEM, as `hil serve init` writes it"
        try:
            key = serialization.load_pem_public_key(data)
        except (ValueError, UnsupportedAlgorithm):
            raise ConfigError(file, "file", "something else", allowed) from None
        if not isinstance(key, Ed25519PublicKey):
            raise ConfigError(file, "file", "a key of another kind", allowed)
        return cls(key)

    @property
    def pem(self) -> bytes:
        """The key as PEM text."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self._key.public_bytes(serialization.Encoding.PEM, form)

    def verifies(self, data: bytes, signature: bytes) -> bool:
        """Whether `signature` was made over `data` by the signing key of this pair."""
        try:
            self._key.verify(signature, data)
        except InvalidSignature:
            return False
        return True

    def open(self, signed: str) -> bytes | None:
        """What a signed text (JWS, compact form) says, or None if this pair did not sign it as a token."""
        try:
            opened = PyJWS().decode_complete(signed, self._key, algorithms=[_ALGORITHM])
        except (PyJWTError, ValueError):
            return None
        payload: bytes = opened["payload"]
        return payload if opened["header"].get("typ") == _TYPE else None


class SigningKey:
    """Signs tokens, or heads of the audit chain. Shows nothing of itself when printed.

    Args:
        seed: 32 bytes that nobody can guess, as `secrets.token_bytes(32)` gives them.
    """

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = PublicKey(self._key.public_key())

    def __repr__(self) -> str:
        return f"SigningKey({self.public.id})"

    @classmethod
    def load(cls, path: Path) -> SigningKey:
        """Read a PEM file that nobody but its owner may read.

        Raises:
            ConfigError: it cannot be read, others may read it, or it holds no Ed25519 key.
        """
        allowed = "an Ed25519 key as PEM without passphrase, as `hil serve init` writes it"
        try:
            key = serialization.load_pem_private_key(read_secret(path), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise ConfigError(str(path), "file", "something else", allowed) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ConfigError(str(path), "file", "a key of another kind", allowed)
        return cls(key.private_bytes_raw())

    def save(self, path: Path) -> None:
        """Write a new file that only its owner can read.

        Raises:
            ConfigError: there is one already, or the place cannot be written to.
        """
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        write_secret(path, self._key.private_bytes(encoding, form, serialization.NoEncryption()))

    def sign(self, data: bytes) -> bytes:
        """64 bytes that `PublicKey.verifies` accepts for `data`."""
        return self._key.sign(data)

    def seal(self, payload: bytes) -> str:
        """`payload` as a signed token text (JWS, compact form)."""
        headers = {"typ": _TYPE, "kid": self.public.id}
        return PyJWS().encode(payload, self._key, algorithm=_ALGORITHM, headers=headers)

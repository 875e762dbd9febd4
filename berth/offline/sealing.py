"""Keeps secret values unreadable in the file of the pretended cloud, so that no search finds one.

The key lies beside the file, readable by its owner only: this guards against a glance and a commit,
as fits a cloud that holds nothing of worth.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path
from typing import Any, Final

from berth.offline.values import Secret

_MARK: Final = "sealed-by-berth"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 16


class Sealer:
    """Turns `Secret` values into sealed text and back."""

    def __init__(self, key_file: Path) -> None:
        self._key = _key_of(key_file)

    def seal(self, value: Any) -> Any:
        """The value with every `Secret` in it sealed, ready for JSON."""
        if isinstance(value, Secret):
            text = json.dumps(self.seal(value.value)).encode()
            nonce = secrets.token_bytes(_NONCE_BYTES)
            return {_MARK: base64.b64encode(nonce + self._mix(nonce, text)).decode()}
        if isinstance(value, dict):
            return {key: self.seal(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.seal(item) for item in value]
        return value

    def unseal(self, value: Any) -> Any:
        """The reverse of `seal`."""
        if isinstance(value, dict):
            if set(value) == {_MARK}:
                raw = base64.b64decode(value[_MARK])
                nonce, text = raw[:_NONCE_BYTES], raw[_NONCE_BYTES:]
                return Secret(self.unseal(json.loads(self._mix(nonce, text))))
            return {key: self.unseal(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.unseal(item) for item in value]
        return value

    def _mix(self, nonce: bytes, text: bytes) -> bytes:
        """XOR with a key stream of HMAC-SHA256 over nonce and counter; its own inverse."""
        stream = b""
        counter = 0
        while len(stream) < len(text):
            block = nonce + counter.to_bytes(8, "big")
            stream += hmac.new(self._key, block, hashlib.sha256).digest()
            counter += 1
        return bytes(a ^ b for a, b in zip(text, stream, strict=False))


def _key_of(key_file: Path) -> bytes:
    """The key in `key_file`, made if there is none yet."""
    try:
        descriptor = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return key_file.read_bytes()
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_KEY_BYTES))
    return key_file.read_bytes()

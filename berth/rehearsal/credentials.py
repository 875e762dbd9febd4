"""What one control plane proves itself with: its token, its key, its kubeconfig."""

import base64
import json
import secrets
from pathlib import Path
from typing import Final

USER: Final = "berth"
GROUP: Final = "system:masters"

P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Of the group of points of NIST's P-256; a private key is a number below it."""

_KEY_HEAD: Final = bytes.fromhex("30310201010420")
_KEY_TAIL: Final = bytes.fromhex("a00a06082a8648ce3d030107")
"""SEC 1, C.4: ECPrivateKey of version 1 with the curve named and the public key left out."""


def new_token() -> str:
    """A bearer token."""
    return secrets.token_hex(24)


def new_signing_key() -> str:
    """A P-256 private key as PEM, which service account tokens are signed with."""
    number = 1 + secrets.randbelow(P256_ORDER - 1)
    content = base64.b64encode(_KEY_HEAD + number.to_bytes(32, "big") + _KEY_TAIL).decode()
    lines = [content[start : start + 64] for start in range(0, len(content), 64)]
    body = "\n".join(lines)
    return f"-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----\n"


def token_file(token: str) -> str:
    """The one line that the API server reads."""
    return f'{token},{USER},{USER},"{GROUP}"\n'


def kubeconfig(server: str, certificate: bytes, token: str, context: str) -> str:
    """A kubeconfig, in JSON, of one context."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": context,
                    "cluster": {
                        "server": server,
                        "certificate-authority-data": base64.b64encode(certificate).decode(),
                    },
                }
            ],
            "users": [{"name": context, "user": {"token": token}}],
            "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
            "current-context": context,
        }
    )


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads."""
    path.touch(0o600)
    path.write_text(text, "utf-8")

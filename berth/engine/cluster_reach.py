"""Whether the cluster that a kubeconfig names answers, told in seconds and with its context."""

import base64
import binascii
import os
import socket
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from berth.config.problems import one_line

SECONDS: Final = 5
"""Until a cluster that does not answer is given up."""


def unreachable(kubeconfig: str, context: str) -> str | None:
    """Why the context cannot be used, as one line; None where its API server answers.

    A user whose token comes from a program (`exec`) is not asked for one: the program may need a
    person. Then only the connection is tried.
    """
    path = Path(kubeconfig).expanduser()
    where = f"berth:cluster.context: {context} of {kubeconfig}"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return f"berth:cluster.kubeconfig: {kubeconfig} does not exist; name another file"
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = one_line(getattr(error, "strerror", None) or str(error).partition("\n")[0]).lower()
        return f"berth:cluster.kubeconfig: {kubeconfig} cannot be read ({reason}); mend it"
    document = document if isinstance(document, Mapping) else {}
    contexts = _named(document, "contexts", "context")
    if context not in contexts:
        known = ", ".join(contexts) or "none"
        return f"{where}: there is no such context; the file has {known}"
    cluster = _named(document, "clusters", "cluster").get(contexts[context].get("cluster", ""), {})
    user = _named(document, "users", "user").get(contexts[context].get("user", ""), {})
    server = str(cluster.get("server", ""))
    if urlsplit(server).scheme not in ("http", "https"):
        return f"{where}: its cluster has no server; mend the kubeconfig"
    try:
        return _asked(server, cluster, user, path.parent, where)
    except (OSError, ValueError, binascii.Error) as error:
        return f"{where}: {server} {_silence(error)}"


def _silence(error: Exception) -> str:
    """Why nobody usable answered, and what to change."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"does not answer within {SECONDS} s; reach its network, or name another context"
    if isinstance(cause, ssl.SSLError):
        reason = getattr(cause, "verify_message", None) or cause.reason or str(cause)
        return f"is not trusted, or does not trust the user ({one_line(reason)}); get new ones"
    if isinstance(cause, binascii.Error | ValueError):
        return f"has a certificate or key that cannot be read ({one_line(str(cause))}); mend it"
    reason = one_line(getattr(cause, "strerror", None) or str(cause)).lower()
    return f"cannot be reached ({reason}); reach its network, or name another context"


def _asked(
    server: str, cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path, where: str
) -> str | None:
    if "exec" in user or "auth-provider" in user:
        parts = urlsplit(server)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=SECONDS):
            return None
    request = urllib.request.Request(f"{server.rstrip('/')}/version")  # noqa: S310  checked above
    token = user.get("token")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(  # noqa: S310  http or https
            request, timeout=SECONDS, context=_trust(server, cluster, user, folder)
        ):
            return None
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            return (
                f"{where}: {server} refuses its credentials ({error.code}), which may have "
                "expired; get new ones"
            )
        return None


def _trust(
    server: str, cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path
) -> ssl.SSLContext | None:
    """TLS as the kubeconfig wants it; a client certificate that has expired is refused here."""
    if not server.startswith("https"):
        return None
    authority = _content(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = _content(user, "client-certificate", folder)
    key = _content(user, "client-key", folder)
    if certificate and key:
        handle, name = tempfile.mkstemp(suffix=".pem")  # the library reads files only; 0600
        try:
            os.write(handle, certificate + b"\n" + key)
            os.close(handle)
            context.load_cert_chain(name)
        finally:
            Path(name).unlink()
    return context


def _content(entry: Mapping[str, Any], key: str, folder: Path) -> bytes | None:
    """What stands in the kubeconfig itself, or in the file that it names."""
    inline, file = entry.get(f"{key}-data"), entry.get(key)
    if inline:
        return base64.b64decode(str(inline))
    return (folder / str(file)).read_bytes() if file else None


def _named(document: Mapping[str, Any], section: str, kind: str) -> dict[str, Mapping[str, Any]]:
    """The entries of a section by name."""
    rows = document.get(section)
    return {
        str(row["name"]): row[kind]
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, Mapping) and "name" in row and isinstance(row.get(kind), Mapping)
    }

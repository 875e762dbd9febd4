"""The key and the kubeconfig of a control plane."""

import base64
import json

from berth.rehearsal.credentials import P256_ORDER, kubeconfig, new_signing_key


def test_the_order_of_the_curve() -> None:
    """FIPS 186-4, D.1.2.3, as a decimal number."""
    assert (
        int("115792089210356248762697446949407573529996955224135760342422259061068512044369")
        == P256_ORDER
    )


def test_the_key_is_a_sec1_structure_of_its_stated_length() -> None:
    lines = new_signing_key().splitlines()
    content = base64.b64decode("".join(lines[1:-1]))

    assert lines[0] == "-----BEGIN EC PRIVATE KEY-----"
    assert content[:2] == bytes([0x30, len(content) - 2])
    assert content[5:7] == bytes([0x04, 32]), "an octet string of 32 bytes"


def test_keys_differ() -> None:
    assert new_signing_key() != new_signing_key()


def test_a_kubeconfig_has_one_context_that_is_current() -> None:
    document = json.loads(kubeconfig("https://127.0.0.1:1", b"PEM", "secret", "mi300x-prod"))

    assert document["current-context"] == "mi300x-prod"
    assert [each["name"] for each in document["contexts"]] == ["mi300x-prod"]
    assert document["users"][0]["user"] == {"token": "secret"}
    data = document["clusters"][0]["cluster"]["certificate-authority-data"]
    assert base64.b64decode(data) == b"PEM"

"""A subscribed browser: prints its keys, then decrypts each request to its push service and prints the message."""

import base64
import json
import os
import sys

import http_ece
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def encoded(of: bytes) -> str:
    return base64.urlsafe_b64encode(of).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def claims(authorization: str) -> dict:
    """The claims of a VAPID token (RFC 8292). Verifies its signature with the key next to it."""
    token, key = (part.split("=", 1)[1] for part in authorization.removeprefix("vapid ").split(", "))
    signed, signature = token.rsplit(".", 1)
    numbers = [int.from_bytes(part, "big") for part in (decoded(signature)[:32], decoded(signature)[32:])]
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(key))
    public.verify(encode_dss_signature(*numbers), signed.encode(), ec.ECDSA(hashes.SHA256()))
    return json.loads(decoded(signed.split(".")[1])) | {"key": key}


private = ec.generate_private_key(ec.SECP256R1())
point = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
secret = os.urandom(16)
print(json.dumps({"p256dh": encoded(point), "auth": encoded(secret)}), flush=True)
for line in sys.stdin:
    got = json.loads(line)
    text = http_ece.decrypt(decoded(got["body"]), private_key=private, auth_secret=secret, version="aes128gcm")
    print(json.dumps({"told": json.loads(text), "claims": claims(got["authorization"])}), flush=True)

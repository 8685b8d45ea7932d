"""A client of Tidings, the notification inbox server, for backends.

`Tidings` has the operations, `sign` makes tokens, and `tidings.api` has the input and result types under the names of
the schema.
"""

from .api import *  # noqa: F403
from . import api
from .client import Notification, Tidings, Token, sign
from .error import TidingsError

__all__ = [*api.__all__, "Notification", "Tidings", "TidingsError", "Token", "sign"]

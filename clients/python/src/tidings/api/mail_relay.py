from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .fragments import MailRelayFields


class MailRelay(BaseModel):
    mail_relay: Optional["MailRelayMailRelay"] = Field(alias="mailRelay")


MailRelayMailRelay = MailRelayFields
MailRelay.model_rebuild()

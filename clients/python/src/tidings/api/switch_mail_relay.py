from pydantic import Field

from .base_model import BaseModel
from .fragments import MailRelayFields


class SwitchMailRelay(BaseModel):
    switch_mail_relay: "SwitchMailRelaySwitchMailRelay" = Field(alias="switchMailRelay")


SwitchMailRelaySwitchMailRelay = MailRelayFields
SwitchMailRelay.model_rebuild()

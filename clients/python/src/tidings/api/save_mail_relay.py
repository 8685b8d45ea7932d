from pydantic import Field

from .base_model import BaseModel
from .fragments import MailRelayFields


class SaveMailRelay(BaseModel):
    save_mail_relay: "SaveMailRelaySaveMailRelay" = Field(alias="saveMailRelay")


SaveMailRelaySaveMailRelay = MailRelayFields
SaveMailRelay.model_rebuild()

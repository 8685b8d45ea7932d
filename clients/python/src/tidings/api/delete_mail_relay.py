from typing import Optional

from pydantic import Field

from .base_model import BaseModel


class DeleteMailRelay(BaseModel):
    delete_mail_relay: "DeleteMailRelayDeleteMailRelay" = Field(alias="deleteMailRelay")


class DeleteMailRelayDeleteMailRelay(BaseModel):
    deleted_id: Optional[str] = Field(alias="deletedId")


DeleteMailRelay.model_rebuild()

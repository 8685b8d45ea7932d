from pydantic import Field

from .base_model import BaseModel
from .fragments import OutcomeFields


class SendMessage(BaseModel):
    send_message: "SendMessageSendMessage" = Field(alias="sendMessage")


SendMessageSendMessage = OutcomeFields
SendMessage.model_rebuild()

from pydantic import Field

from .base_model import BaseModel
from .fragments import OutcomeFields


class SendReminder(BaseModel):
    send_reminder: "SendReminderSendReminder" = Field(alias="sendReminder")


SendReminderSendReminder = OutcomeFields
SendReminder.model_rebuild()

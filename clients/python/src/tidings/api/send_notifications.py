from pydantic import Field

from .base_model import BaseModel
from .fragments import OutcomeFields


class SendNotifications(BaseModel):
    send_notifications: list["SendNotificationsSendNotifications"] = Field(
        alias="sendNotifications"
    )


SendNotificationsSendNotifications = OutcomeFields
SendNotifications.model_rebuild()

from pydantic import Field

from .base_model import BaseModel
from .fragments import SentFields


class UpdateSentNotification(BaseModel):
    update_sent_notification: "UpdateSentNotificationUpdateSentNotification" = Field(
        alias="updateSentNotification"
    )


UpdateSentNotificationUpdateSentNotification = SentFields
UpdateSentNotification.model_rebuild()

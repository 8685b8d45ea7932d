from pydantic import Field

from .base_model import BaseModel
from .fragments import SentFields


class RetractSentNotification(BaseModel):
    retract_sent_notification: "RetractSentNotificationRetractSentNotification" = Field(
        alias="retractSentNotification"
    )


RetractSentNotificationRetractSentNotification = SentFields
RetractSentNotification.model_rebuild()

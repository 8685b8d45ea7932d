from pydantic import Field

from .base_model import BaseModel
from .fragments import OutcomeFields


class SendAnnouncement(BaseModel):
    send_announcement: "SendAnnouncementSendAnnouncement" = Field(
        alias="sendAnnouncement"
    )


SendAnnouncementSendAnnouncement = OutcomeFields
SendAnnouncement.model_rebuild()

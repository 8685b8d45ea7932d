from pydantic import Field

from .base_model import BaseModel
from .fragments import WebhookEndpointFields


class ResumeWebhookEndpoint(BaseModel):
    resume_webhook_endpoint: "ResumeWebhookEndpointResumeWebhookEndpoint" = Field(
        alias="resumeWebhookEndpoint"
    )


ResumeWebhookEndpointResumeWebhookEndpoint = WebhookEndpointFields
ResumeWebhookEndpoint.model_rebuild()

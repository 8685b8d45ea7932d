from pydantic import Field

from .base_model import BaseModel
from .fragments import WebhookEndpointFields


class RotateWebhookSecret(BaseModel):
    rotate_webhook_secret: "RotateWebhookSecretRotateWebhookSecret" = Field(
        alias="rotateWebhookSecret"
    )


class RotateWebhookSecretRotateWebhookSecret(BaseModel):
    endpoint: "RotateWebhookSecretRotateWebhookSecretEndpoint"
    secret: str


RotateWebhookSecretRotateWebhookSecretEndpoint = WebhookEndpointFields
RotateWebhookSecret.model_rebuild()
RotateWebhookSecretRotateWebhookSecret.model_rebuild()

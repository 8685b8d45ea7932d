from typing import Optional

from pydantic import Field

from .base_model import BaseModel


class DeleteWebhookEndpoint(BaseModel):
    delete_webhook_endpoint: "DeleteWebhookEndpointDeleteWebhookEndpoint" = Field(
        alias="deleteWebhookEndpoint"
    )


class DeleteWebhookEndpointDeleteWebhookEndpoint(BaseModel):
    deleted_id: Optional[str] = Field(alias="deletedId")


DeleteWebhookEndpoint.model_rebuild()

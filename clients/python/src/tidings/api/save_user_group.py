from pydantic import Field

from .base_model import BaseModel
from .fragments import UserGroupFields


class SaveUserGroup(BaseModel):
    save_user_group: "SaveUserGroupSaveUserGroup" = Field(alias="saveUserGroup")


SaveUserGroupSaveUserGroup = UserGroupFields
SaveUserGroup.model_rebuild()

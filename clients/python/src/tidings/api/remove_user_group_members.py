from pydantic import Field

from .base_model import BaseModel
from .fragments import UserGroupFields


class RemoveUserGroupMembers(BaseModel):
    remove_user_group_members: "RemoveUserGroupMembersRemoveUserGroupMembers" = Field(
        alias="removeUserGroupMembers"
    )


RemoveUserGroupMembersRemoveUserGroupMembers = UserGroupFields
RemoveUserGroupMembers.model_rebuild()

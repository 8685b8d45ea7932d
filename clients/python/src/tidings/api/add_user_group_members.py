from pydantic import Field

from .base_model import BaseModel
from .fragments import UserGroupFields


class AddUserGroupMembers(BaseModel):
    add_user_group_members: "AddUserGroupMembersAddUserGroupMembers" = Field(
        alias="addUserGroupMembers"
    )


AddUserGroupMembersAddUserGroupMembers = UserGroupFields
AddUserGroupMembers.model_rebuild()

from pydantic import Field

from .base_model import BaseModel
from .fragments import UserFields


class SaveUserProfiles(BaseModel):
    save_user_profiles: list["SaveUserProfilesSaveUserProfiles"] = Field(
        alias="saveUserProfiles"
    )


SaveUserProfilesSaveUserProfiles = UserFields
SaveUserProfiles.model_rebuild()

from typing import Any, Optional, Union

from .add_user_group_members import (
    AddUserGroupMembers,
    AddUserGroupMembersAddUserGroupMembers,
)
from .archive_items import ArchiveItems, ArchiveItemsArchiveItems
from .base import Carrier
from .base_model import UNSET, UnsetType
from .create_webhook_endpoint import (
    CreateWebhookEndpoint,
    CreateWebhookEndpointCreateWebhookEndpoint,
)
from .delete_items import DeleteItems, DeleteItemsDeleteItems
from .delete_mail_relay import DeleteMailRelay, DeleteMailRelayDeleteMailRelay
from .delete_webhook_endpoint import (
    DeleteWebhookEndpoint,
    DeleteWebhookEndpointDeleteWebhookEndpoint,
)
from .enums import MailRelaySwitch
from .inbox_user_inbox import InboxUserInbox, InboxUserInboxInboxUser
from .inbox_user_overview import InboxUserOverview, InboxUserOverviewInboxUser
from .input_types import (
    CreateWebhookEndpointInput,
    InboxFilter,
    InboxItemSelector,
    MailRelayInput,
    MessageTypeInput,
    NotificationFilter,
    NotificationPatch,
    OutboundDeliveryFilter,
    OutboundDeliverySelector,
    SendAnnouncementInput,
    SendMessageInput,
    SendNotificationInput,
    SendReminderInput,
    SubscribeTopicInput,
    UpdateWebhookEndpointInput,
    UserProfileInput,
)
from .mail_relay import MailRelay, MailRelayMailRelay
from .mark_read import MarkRead, MarkReadMarkRead
from .mark_seen import MarkSeen, MarkSeenMarkSeen
from .mark_unread import MarkUnread, MarkUnreadMarkUnread
from .outbound_deliveries import (
    OutboundDeliveries,
    OutboundDeliveriesOutboundDeliveries,
)
from .pause_webhook_endpoint import (
    PauseWebhookEndpoint,
    PauseWebhookEndpointPauseWebhookEndpoint,
)
from .remove_user_group_members import (
    RemoveUserGroupMembers,
    RemoveUserGroupMembersRemoveUserGroupMembers,
)
from .replay_outbound_deliveries import (
    ReplayOutboundDeliveries,
    ReplayOutboundDeliveriesReplayOutboundDeliveries,
)
from .resume_webhook_endpoint import (
    ResumeWebhookEndpoint,
    ResumeWebhookEndpointResumeWebhookEndpoint,
)
from .retract_sent_notification import (
    RetractSentNotification,
    RetractSentNotificationRetractSentNotification,
)
from .rotate_webhook_secret import (
    RotateWebhookSecret,
    RotateWebhookSecretRotateWebhookSecret,
)
from .save_mail_relay import SaveMailRelay, SaveMailRelaySaveMailRelay
from .save_message_type import SaveMessageType, SaveMessageTypeSaveMessageType
from .save_user_group import SaveUserGroup, SaveUserGroupSaveUserGroup
from .save_user_profiles import SaveUserProfiles, SaveUserProfilesSaveUserProfiles
from .send_announcement import SendAnnouncement, SendAnnouncementSendAnnouncement
from .send_message import SendMessage, SendMessageSendMessage
from .send_notifications import SendNotifications, SendNotificationsSendNotifications
from .send_reminder import SendReminder, SendReminderSendReminder
from .sent_notifications import SentNotifications, SentNotificationsSentNotifications
from .subscribe_topic import SubscribeTopic, SubscribeTopicSubscribeTopic
from .switch_mail_relay import SwitchMailRelay, SwitchMailRelaySwitchMailRelay
from .test_webhook_endpoint import (
    TestWebhookEndpoint,
    TestWebhookEndpointTestWebhookEndpoint,
)
from .unarchive_items import UnarchiveItems, UnarchiveItemsUnarchiveItems
from .update_sent_notification import (
    UpdateSentNotification,
    UpdateSentNotificationUpdateSentNotification,
)
from .update_webhook_endpoint import (
    UpdateWebhookEndpoint,
    UpdateWebhookEndpointUpdateWebhookEndpoint,
)
from .webhook_endpoints import WebhookEndpoints, WebhookEndpointsWebhookEndpoints


def gql(q: str) -> str:
    return q


class Operations(Carrier):
    async def add_user_group_members(
        self, code: str, users: list[str], **kwargs: Any
    ) -> AddUserGroupMembersAddUserGroupMembers:
        query = gql("""
            mutation AddUserGroupMembers($code: String!, $users: [ID!]!) {
              addUserGroupMembers(code: $code, users: $users) {
                ...UserGroupFields
              }
            }

            fragment UserGroupFields on UserGroup {
              id
              code
              title
              memberCount
            }
            """)
        variables: dict[str, object] = {"code": code, "users": users}
        response = await self.execute(
            query=query,
            operation_name="AddUserGroupMembers",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return AddUserGroupMembers.model_validate(data).add_user_group_members

    async def archive_items(
        self, user: str, select: InboxItemSelector, **kwargs: Any
    ) -> ArchiveItemsArchiveItems:
        query = gql("""
            mutation ArchiveItems($user: ID!, $select: InboxItemSelector!) {
              archiveItems(user: $user, select: $select) {
                changedCount
              }
            }
            """)
        variables: dict[str, object] = {"user": user, "select": select}
        response = await self.execute(
            query=query, operation_name="ArchiveItems", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return ArchiveItems.model_validate(data).archive_items

    async def create_webhook_endpoint(
        self, input: CreateWebhookEndpointInput, **kwargs: Any
    ) -> CreateWebhookEndpointCreateWebhookEndpoint:
        query = gql("""
            mutation CreateWebhookEndpoint($input: CreateWebhookEndpointInput!) {
              createWebhookEndpoint(input: $input) {
                endpoint {
                  ...WebhookEndpointFields
                }
                secret
              }
            }

            fragment WebhookEndpointFields on WebhookEndpoint {
              id
              url
              events
              full
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastAttemptAt
              lastStatus
              lastError
              pendingCount
              deadCount
              previousSecretUntil
              createdAt
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = await self.execute(
            query=query,
            operation_name="CreateWebhookEndpoint",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return CreateWebhookEndpoint.model_validate(data).create_webhook_endpoint

    async def delete_items(
        self, user: str, select: InboxItemSelector, **kwargs: Any
    ) -> DeleteItemsDeleteItems:
        query = gql("""
            mutation DeleteItems($user: ID!, $select: InboxItemSelector!) {
              deleteItems(user: $user, select: $select) {
                changedCount
              }
            }
            """)
        variables: dict[str, object] = {"user": user, "select": select}
        response = await self.execute(
            query=query, operation_name="DeleteItems", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return DeleteItems.model_validate(data).delete_items

    async def delete_mail_relay(self, **kwargs: Any) -> DeleteMailRelayDeleteMailRelay:
        query = gql("""
            mutation DeleteMailRelay {
              deleteMailRelay {
                deletedId
              }
            }
            """)
        variables: dict[str, object] = {}
        response = await self.execute(
            query=query, operation_name="DeleteMailRelay", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return DeleteMailRelay.model_validate(data).delete_mail_relay

    async def delete_webhook_endpoint(
        self, id: str, **kwargs: Any
    ) -> DeleteWebhookEndpointDeleteWebhookEndpoint:
        query = gql("""
            mutation DeleteWebhookEndpoint($id: ID!) {
              deleteWebhookEndpoint(id: $id) {
                deletedId
              }
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = await self.execute(
            query=query,
            operation_name="DeleteWebhookEndpoint",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return DeleteWebhookEndpoint.model_validate(data).delete_webhook_endpoint

    async def inbox_user_inbox(
        self,
        id: str,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        filter_: Union[Optional[InboxFilter], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Optional[InboxUserInboxInboxUser]:
        query = gql("""
            query InboxUserInbox($id: ID!, $first: Int, $after: String, $filter: InboxFilter) {
              inboxUser(id: $id) {
                inbox(first: $first, after: $after, filter: $filter) {
                  nodes {
                    ...ItemFields
                  }
                  pageInfo {
                    hasNextPage
                    endCursor
                  }
                }
              }
            }

            fragment ItemFields on InboxItem {
              id
              notificationId
              kind
              type {
                code
                title
              }
              title
              body
              link
              data
              action
              target {
                type
                externalId
              }
              sender {
                id
              }
              createdAt
              updatedAt
              expiresAt
              isRead
              readAt
              isArchived
              archivedAt
            }
            """)
        variables: dict[str, object] = {
            "id": id,
            "first": first,
            "after": after,
            "filter": filter_,
        }
        response = await self.execute(
            query=query, operation_name="InboxUserInbox", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return InboxUserInbox.model_validate(data).inbox_user

    async def inbox_user_overview(
        self,
        id: str,
        cap: Union[Optional[int], UnsetType] = UNSET,
        types: Union[Optional[list[str]], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> Optional[InboxUserOverviewInboxUser]:
        query = gql("""
            query InboxUserOverview($id: ID!, $cap: Int, $types: [String!]) {
              inboxUser(id: $id) {
                overview(cap: $cap, types: $types) {
                  cursor
                  unread {
                    ...CountFields
                  }
                  unseen {
                    ...CountFields
                  }
                  types {
                    type {
                      code
                      title
                    }
                    unread {
                      ...CountFields
                    }
                    latest {
                      ...ItemFields
                    }
                  }
                }
              }
            }

            fragment CountFields on CappedCount {
              count
              exact
            }

            fragment ItemFields on InboxItem {
              id
              notificationId
              kind
              type {
                code
                title
              }
              title
              body
              link
              data
              action
              target {
                type
                externalId
              }
              sender {
                id
              }
              createdAt
              updatedAt
              expiresAt
              isRead
              readAt
              isArchived
              archivedAt
            }
            """)
        variables: dict[str, object] = {"id": id, "cap": cap, "types": types}
        response = await self.execute(
            query=query,
            operation_name="InboxUserOverview",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return InboxUserOverview.model_validate(data).inbox_user

    async def mail_relay(self, **kwargs: Any) -> Optional[MailRelayMailRelay]:
        query = gql("""
            query MailRelay {
              mailRelay {
                ...MailRelayFields
              }
            }

            fragment MailRelayFields on MailRelay {
              id
              url
              from
              replyTo
              linkBase
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastError
              pendingCount
              deadCount
            }
            """)
        variables: dict[str, object] = {}
        response = await self.execute(
            query=query, operation_name="MailRelay", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return MailRelay.model_validate(data).mail_relay

    async def mark_read(
        self, user: str, select: InboxItemSelector, **kwargs: Any
    ) -> MarkReadMarkRead:
        query = gql("""
            mutation MarkRead($user: ID!, $select: InboxItemSelector!) {
              markRead(user: $user, select: $select) {
                changedCount
              }
            }
            """)
        variables: dict[str, object] = {"user": user, "select": select}
        response = await self.execute(
            query=query, operation_name="MarkRead", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return MarkRead.model_validate(data).mark_read

    async def mark_seen(
        self, user: str, type_: Union[Optional[str], UnsetType] = UNSET, **kwargs: Any
    ) -> MarkSeenMarkSeen:
        query = gql("""
            mutation MarkSeen($user: ID!, $type: String) {
              markSeen(user: $user, type: $type) {
                changedCount
              }
            }
            """)
        variables: dict[str, object] = {"user": user, "type": type_}
        response = await self.execute(
            query=query, operation_name="MarkSeen", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return MarkSeen.model_validate(data).mark_seen

    async def mark_unread(
        self, user: str, select: InboxItemSelector, **kwargs: Any
    ) -> MarkUnreadMarkUnread:
        query = gql("""
            mutation MarkUnread($user: ID!, $select: InboxItemSelector!) {
              markUnread(user: $user, select: $select) {
                changedCount
              }
            }
            """)
        variables: dict[str, object] = {"user": user, "select": select}
        response = await self.execute(
            query=query, operation_name="MarkUnread", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return MarkUnread.model_validate(data).mark_unread

    async def outbound_deliveries(
        self,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        filter_: Union[Optional[OutboundDeliveryFilter], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> OutboundDeliveriesOutboundDeliveries:
        query = gql("""
            query OutboundDeliveries($first: Int, $after: String, $filter: OutboundDeliveryFilter) {
              outboundDeliveries(first: $first, after: $after, filter: $filter) {
                nodes {
                  ...OutboundDeliveryFields
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment OutboundDeliveryFields on OutboundDelivery {
              id
              channel
              endpointId
              user {
                id
              }
              event
              notificationId
              happenedAt
              state
              attemptCount
              dueAt
              lastStatus
              lastError
              createdAt
              deliveredAt
            }
            """)
        variables: dict[str, object] = {
            "first": first,
            "after": after,
            "filter": filter_,
        }
        response = await self.execute(
            query=query,
            operation_name="OutboundDeliveries",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return OutboundDeliveries.model_validate(data).outbound_deliveries

    async def pause_webhook_endpoint(
        self, id: str, **kwargs: Any
    ) -> PauseWebhookEndpointPauseWebhookEndpoint:
        query = gql("""
            mutation PauseWebhookEndpoint($id: ID!) {
              pauseWebhookEndpoint(id: $id) {
                ...WebhookEndpointFields
              }
            }

            fragment WebhookEndpointFields on WebhookEndpoint {
              id
              url
              events
              full
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastAttemptAt
              lastStatus
              lastError
              pendingCount
              deadCount
              previousSecretUntil
              createdAt
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = await self.execute(
            query=query,
            operation_name="PauseWebhookEndpoint",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return PauseWebhookEndpoint.model_validate(data).pause_webhook_endpoint

    async def remove_user_group_members(
        self, code: str, users: list[str], **kwargs: Any
    ) -> RemoveUserGroupMembersRemoveUserGroupMembers:
        query = gql("""
            mutation RemoveUserGroupMembers($code: String!, $users: [ID!]!) {
              removeUserGroupMembers(code: $code, users: $users) {
                ...UserGroupFields
              }
            }

            fragment UserGroupFields on UserGroup {
              id
              code
              title
              memberCount
            }
            """)
        variables: dict[str, object] = {"code": code, "users": users}
        response = await self.execute(
            query=query,
            operation_name="RemoveUserGroupMembers",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return RemoveUserGroupMembers.model_validate(data).remove_user_group_members

    async def replay_outbound_deliveries(
        self, select: OutboundDeliverySelector, **kwargs: Any
    ) -> ReplayOutboundDeliveriesReplayOutboundDeliveries:
        query = gql("""
            mutation ReplayOutboundDeliveries($select: OutboundDeliverySelector!) {
              replayOutboundDeliveries(select: $select) {
                replayedCount
              }
            }
            """)
        variables: dict[str, object] = {"select": select}
        response = await self.execute(
            query=query,
            operation_name="ReplayOutboundDeliveries",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return ReplayOutboundDeliveries.model_validate(data).replay_outbound_deliveries

    async def resume_webhook_endpoint(
        self, id: str, **kwargs: Any
    ) -> ResumeWebhookEndpointResumeWebhookEndpoint:
        query = gql("""
            mutation ResumeWebhookEndpoint($id: ID!) {
              resumeWebhookEndpoint(id: $id) {
                ...WebhookEndpointFields
              }
            }

            fragment WebhookEndpointFields on WebhookEndpoint {
              id
              url
              events
              full
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastAttemptAt
              lastStatus
              lastError
              pendingCount
              deadCount
              previousSecretUntil
              createdAt
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = await self.execute(
            query=query,
            operation_name="ResumeWebhookEndpoint",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return ResumeWebhookEndpoint.model_validate(data).resume_webhook_endpoint

    async def retract_sent_notification(
        self, id: str, **kwargs: Any
    ) -> RetractSentNotificationRetractSentNotification:
        query = gql("""
            mutation RetractSentNotification($id: ID!) {
              retractSentNotification(id: $id) {
                ...SentFields
              }
            }

            fragment SentFields on SentNotification {
              id
              kind
              status
              type {
                code
                title
              }
              title
              body
              link
              data
              action
              target {
                type
                externalId
              }
              sender {
                id
              }
              createdAt
              updatedAt
              publishAt
              publishedAt
              expiresAt
              retractedAt
              stats {
                audienceSize
                deliveredCount
                readCount
              }
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = await self.execute(
            query=query,
            operation_name="RetractSentNotification",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return RetractSentNotification.model_validate(data).retract_sent_notification

    async def rotate_webhook_secret(
        self, id: str, **kwargs: Any
    ) -> RotateWebhookSecretRotateWebhookSecret:
        query = gql("""
            mutation RotateWebhookSecret($id: ID!) {
              rotateWebhookSecret(id: $id) {
                endpoint {
                  ...WebhookEndpointFields
                }
                secret
              }
            }

            fragment WebhookEndpointFields on WebhookEndpoint {
              id
              url
              events
              full
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastAttemptAt
              lastStatus
              lastError
              pendingCount
              deadCount
              previousSecretUntil
              createdAt
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = await self.execute(
            query=query,
            operation_name="RotateWebhookSecret",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return RotateWebhookSecret.model_validate(data).rotate_webhook_secret

    async def save_mail_relay(
        self, input: MailRelayInput, **kwargs: Any
    ) -> SaveMailRelaySaveMailRelay:
        query = gql("""
            mutation SaveMailRelay($input: MailRelayInput!) {
              saveMailRelay(input: $input) {
                ...MailRelayFields
              }
            }

            fragment MailRelayFields on MailRelay {
              id
              url
              from
              replyTo
              linkBase
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastError
              pendingCount
              deadCount
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = await self.execute(
            query=query, operation_name="SaveMailRelay", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SaveMailRelay.model_validate(data).save_mail_relay

    async def save_message_type(
        self, input: MessageTypeInput, **kwargs: Any
    ) -> SaveMessageTypeSaveMessageType:
        query = gql("""
            mutation SaveMessageType($input: MessageTypeInput!) {
              saveMessageType(input: $input) {
                id
                code
                title
                group
                position
                mandatory
                readPolicy
                ttlSeconds
                template {
                  title
                  body
                  link
                }
                templateError
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = await self.execute(
            query=query, operation_name="SaveMessageType", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SaveMessageType.model_validate(data).save_message_type

    async def save_user_group(
        self, code: str, title: Union[Optional[str], UnsetType] = UNSET, **kwargs: Any
    ) -> SaveUserGroupSaveUserGroup:
        query = gql("""
            mutation SaveUserGroup($code: String!, $title: String) {
              saveUserGroup(code: $code, title: $title) {
                ...UserGroupFields
              }
            }

            fragment UserGroupFields on UserGroup {
              id
              code
              title
              memberCount
            }
            """)
        variables: dict[str, object] = {"code": code, "title": title}
        response = await self.execute(
            query=query, operation_name="SaveUserGroup", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SaveUserGroup.model_validate(data).save_user_group

    async def save_user_profiles(
        self, inputs: list[UserProfileInput], **kwargs: Any
    ) -> list[SaveUserProfilesSaveUserProfiles]:
        query = gql("""
            mutation SaveUserProfiles($inputs: [UserProfileInput!]!) {
              saveUserProfiles(inputs: $inputs) {
                ...UserFields
              }
            }

            fragment UserFields on User {
              id
              name
              avatarUrl
              locale
            }
            """)
        variables: dict[str, object] = {"inputs": inputs}
        response = await self.execute(
            query=query,
            operation_name="SaveUserProfiles",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return SaveUserProfiles.model_validate(data).save_user_profiles

    async def send_announcement(
        self, input: SendAnnouncementInput, **kwargs: Any
    ) -> SendAnnouncementSendAnnouncement:
        query = gql("""
            mutation SendAnnouncement($input: SendAnnouncementInput!) {
              sendAnnouncement(input: $input) {
                ...OutcomeFields
              }
            }

            fragment OutcomeFields on SendPayload {
              replayed
              notification {
                id
                status
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = await self.execute(
            query=query,
            operation_name="SendAnnouncement",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return SendAnnouncement.model_validate(data).send_announcement

    async def send_message(
        self, input: SendMessageInput, **kwargs: Any
    ) -> SendMessageSendMessage:
        query = gql("""
            mutation SendMessage($input: SendMessageInput!) {
              sendMessage(input: $input) {
                ...OutcomeFields
              }
            }

            fragment OutcomeFields on SendPayload {
              replayed
              notification {
                id
                status
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = await self.execute(
            query=query, operation_name="SendMessage", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SendMessage.model_validate(data).send_message

    async def send_notifications(
        self, inputs: list[SendNotificationInput], **kwargs: Any
    ) -> list[SendNotificationsSendNotifications]:
        query = gql("""
            mutation SendNotifications($inputs: [SendNotificationInput!]!) {
              sendNotifications(inputs: $inputs) {
                ...OutcomeFields
              }
            }

            fragment OutcomeFields on SendPayload {
              replayed
              notification {
                id
                status
              }
            }
            """)
        variables: dict[str, object] = {"inputs": inputs}
        response = await self.execute(
            query=query,
            operation_name="SendNotifications",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return SendNotifications.model_validate(data).send_notifications

    async def send_reminder(
        self, input: SendReminderInput, **kwargs: Any
    ) -> SendReminderSendReminder:
        query = gql("""
            mutation SendReminder($input: SendReminderInput!) {
              sendReminder(input: $input) {
                ...OutcomeFields
              }
            }

            fragment OutcomeFields on SendPayload {
              replayed
              notification {
                id
                status
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = await self.execute(
            query=query, operation_name="SendReminder", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SendReminder.model_validate(data).send_reminder

    async def sent_notifications(
        self,
        first: Union[Optional[int], UnsetType] = UNSET,
        after: Union[Optional[str], UnsetType] = UNSET,
        filter_: Union[Optional[NotificationFilter], UnsetType] = UNSET,
        **kwargs: Any,
    ) -> SentNotificationsSentNotifications:
        query = gql("""
            query SentNotifications($first: Int, $after: String, $filter: NotificationFilter) {
              sentNotifications(first: $first, after: $after, filter: $filter) {
                nodes {
                  ...SentFields
                }
                pageInfo {
                  hasNextPage
                  endCursor
                }
              }
            }

            fragment SentFields on SentNotification {
              id
              kind
              status
              type {
                code
                title
              }
              title
              body
              link
              data
              action
              target {
                type
                externalId
              }
              sender {
                id
              }
              createdAt
              updatedAt
              publishAt
              publishedAt
              expiresAt
              retractedAt
              stats {
                audienceSize
                deliveredCount
                readCount
              }
            }
            """)
        variables: dict[str, object] = {
            "first": first,
            "after": after,
            "filter": filter_,
        }
        response = await self.execute(
            query=query,
            operation_name="SentNotifications",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return SentNotifications.model_validate(data).sent_notifications

    async def subscribe_topic(
        self, input: SubscribeTopicInput, **kwargs: Any
    ) -> SubscribeTopicSubscribeTopic:
        query = gql("""
            mutation SubscribeTopic($input: SubscribeTopicInput!) {
              subscribeTopic(input: $input) {
                createdCount
                subscriptions {
                  id
                  action
                  target {
                    type
                    externalId
                  }
                  createdAt
                }
              }
            }
            """)
        variables: dict[str, object] = {"input": input}
        response = await self.execute(
            query=query, operation_name="SubscribeTopic", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SubscribeTopic.model_validate(data).subscribe_topic

    async def switch_mail_relay(
        self, to: MailRelaySwitch, **kwargs: Any
    ) -> SwitchMailRelaySwitchMailRelay:
        query = gql("""
            mutation SwitchMailRelay($to: MailRelaySwitch!) {
              switchMailRelay(to: $to) {
                ...MailRelayFields
              }
            }

            fragment MailRelayFields on MailRelay {
              id
              url
              from
              replyTo
              linkBase
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastError
              pendingCount
              deadCount
            }
            """)
        variables: dict[str, object] = {"to": to}
        response = await self.execute(
            query=query, operation_name="SwitchMailRelay", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return SwitchMailRelay.model_validate(data).switch_mail_relay

    async def test_webhook_endpoint(
        self, id: str, **kwargs: Any
    ) -> TestWebhookEndpointTestWebhookEndpoint:
        query = gql("""
            mutation TestWebhookEndpoint($id: ID!) {
              testWebhookEndpoint(id: $id) {
                ...OutboundDeliveryFields
              }
            }

            fragment OutboundDeliveryFields on OutboundDelivery {
              id
              channel
              endpointId
              user {
                id
              }
              event
              notificationId
              happenedAt
              state
              attemptCount
              dueAt
              lastStatus
              lastError
              createdAt
              deliveredAt
            }
            """)
        variables: dict[str, object] = {"id": id}
        response = await self.execute(
            query=query,
            operation_name="TestWebhookEndpoint",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return TestWebhookEndpoint.model_validate(data).test_webhook_endpoint

    async def unarchive_items(
        self, user: str, select: InboxItemSelector, **kwargs: Any
    ) -> UnarchiveItemsUnarchiveItems:
        query = gql("""
            mutation UnarchiveItems($user: ID!, $select: InboxItemSelector!) {
              unarchiveItems(user: $user, select: $select) {
                changedCount
              }
            }
            """)
        variables: dict[str, object] = {"user": user, "select": select}
        response = await self.execute(
            query=query, operation_name="UnarchiveItems", variables=variables, **kwargs
        )
        data = self.get_data(response)
        return UnarchiveItems.model_validate(data).unarchive_items

    async def update_sent_notification(
        self, id: str, input: NotificationPatch, **kwargs: Any
    ) -> UpdateSentNotificationUpdateSentNotification:
        query = gql("""
            mutation UpdateSentNotification($id: ID!, $input: NotificationPatch!) {
              updateSentNotification(id: $id, input: $input) {
                ...SentFields
              }
            }

            fragment SentFields on SentNotification {
              id
              kind
              status
              type {
                code
                title
              }
              title
              body
              link
              data
              action
              target {
                type
                externalId
              }
              sender {
                id
              }
              createdAt
              updatedAt
              publishAt
              publishedAt
              expiresAt
              retractedAt
              stats {
                audienceSize
                deliveredCount
                readCount
              }
            }
            """)
        variables: dict[str, object] = {"id": id, "input": input}
        response = await self.execute(
            query=query,
            operation_name="UpdateSentNotification",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return UpdateSentNotification.model_validate(data).update_sent_notification

    async def update_webhook_endpoint(
        self, id: str, input: UpdateWebhookEndpointInput, **kwargs: Any
    ) -> UpdateWebhookEndpointUpdateWebhookEndpoint:
        query = gql("""
            mutation UpdateWebhookEndpoint($id: ID!, $input: UpdateWebhookEndpointInput!) {
              updateWebhookEndpoint(id: $id, input: $input) {
                ...WebhookEndpointFields
              }
            }

            fragment WebhookEndpointFields on WebhookEndpoint {
              id
              url
              events
              full
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastAttemptAt
              lastStatus
              lastError
              pendingCount
              deadCount
              previousSecretUntil
              createdAt
            }
            """)
        variables: dict[str, object] = {"id": id, "input": input}
        response = await self.execute(
            query=query,
            operation_name="UpdateWebhookEndpoint",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return UpdateWebhookEndpoint.model_validate(data).update_webhook_endpoint

    async def webhook_endpoints(
        self, **kwargs: Any
    ) -> list[WebhookEndpointsWebhookEndpoints]:
        query = gql("""
            query WebhookEndpoints {
              webhookEndpoints {
                ...WebhookEndpointFields
              }
            }

            fragment WebhookEndpointFields on WebhookEndpoint {
              id
              url
              events
              full
              alarm {
                type
                group
              }
              state
              failingSince
              restingUntil
              lastAttemptAt
              lastStatus
              lastError
              pendingCount
              deadCount
              previousSecretUntil
              createdAt
            }
            """)
        variables: dict[str, object] = {}
        response = await self.execute(
            query=query,
            operation_name="WebhookEndpoints",
            variables=variables,
            **kwargs,
        )
        data = self.get_data(response)
        return WebhookEndpoints.model_validate(data).webhook_endpoints

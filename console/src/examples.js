// The examples that a user can insert, one operation per file. The page never runs them by itself.

import first from '../examples/first.graphql';
import amend from '../examples/operator/amend.graphql';
import announceToGroup from '../examples/operator/announce-to-group.graphql';
import fillGroup from '../examples/operator/fill-group.graphql';
import inboxOfUser from '../examples/operator/inbox-of-user.graphql';
import remind from '../examples/operator/remind.graphql';
import reportRows from '../examples/operator/report-rows.graphql';
import resumeRule from '../examples/operator/resume-rule.graphql';
import retract from '../examples/operator/retract.graphql';
import rules from '../examples/operator/rules.graphql';
import saveMessageType from '../examples/operator/save-message-type.graphql';
import saveRule from '../examples/operator/save-rule.graphql';
import sentNotifications from '../examples/operator/sent-notifications.graphql';
import inbox from '../examples/user/inbox.graphql';
import liveItems from '../examples/user/live-items.graphql';
import liveOverview from '../examples/user/live-overview.graphql';
import markRead from '../examples/user/mark-read.graphql';
import overview from '../examples/user/overview.graphql';
import preferences from '../examples/user/preferences.graphql';
import subscribe from '../examples/user/subscribe.graphql';

/** The editor's initial content: a query that every role may run. */
export const FIRST_QUERY = first;

/** In an order where each example builds on earlier ones. */
export const EXAMPLES = [
  {
    callers: 'Services and operators',
    operations: [
      sentNotifications, inboxOfUser, rules, saveMessageType, fillGroup, announceToGroup, remind, amend, retract, saveRule, reportRows,
      resumeRule,
    ],
  },
  { callers: 'Users', operations: [overview, inbox, liveItems, liveOverview, markRead, preferences, subscribe] },
];

/** The kind (`query`, `mutation` or `subscription`) and the name of an operation, and its name in words. */
export function titleOf(operation) {
  const [, kind, name] = operation.match(/^(query|mutation|subscription) (\w+)/m);
  const words = name.replace(/(?<!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return { kind, name, words };
}

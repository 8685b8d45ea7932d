// The tabs that are open to begin with: one a file, in the order in which they go together on an empty tenant. The demo has the
// types, groups, users, targets and rules that they name.

import announce from '../operations/operator/announce.graphql';
import announceToGroup from '../operations/operator/announce-to-group.graphql';
import amend from '../operations/operator/amend.graphql';
import defineTypes from '../operations/operator/define-types.graphql';
import fillGroup from '../operations/operator/fill-group.graphql';
import lookIntoInbox from '../operations/operator/look-into-inbox.graphql';
import remind from '../operations/operator/remind.graphql';
import reportRows from '../operations/operator/report-rows.graphql';
import resumeRule from '../operations/operator/resume-rule.graphql';
import retract from '../operations/operator/retract.graphql';
import rules from '../operations/operator/rules.graphql';
import saveRule from '../operations/operator/save-rule.graphql';
import schedule from '../operations/operator/schedule.graphql';
import statistics from '../operations/operator/statistics.graphql';
import inbox from '../operations/user/inbox.graphql';
import liveItems from '../operations/user/live-items.graphql';
import liveOverview from '../operations/user/live-overview.graphql';
import markAllRead from '../operations/user/mark-all-read.graphql';
import overview from '../operations/user/overview.graphql';
import preferences from '../operations/user/preferences.graphql';
import subscribe from '../operations/user/subscribe.graphql';

const PREPARED = {
  operator: [
    defineTypes, announce, fillGroup, announceToGroup, remind, schedule, statistics, amend, retract, lookIntoInbox,
    saveRule, reportRows, rules, resumeRule,
  ],
  user: [overview, inbox, liveItems, liveOverview, markAllRead, preferences, subscribe],
};

/** The tabs for an `operator` or a `user`, as GraphiQL takes them. */
export function tabs(kind) {
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  return PREPARED[kind].map((query) => ({ query: query.replaceAll('{in an hour}', inAnHour) }));
}

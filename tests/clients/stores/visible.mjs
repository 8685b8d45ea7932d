// Everything that a device shows, as a plain object that is the same from every store and from the server.

/** The same selections as in the operations of the stores. */
const FRESH = `
  query Fresh {
    viewer {
      id
      user { id name }
      groups { id code title memberCount }
      overview {
        unread { count exact }
        unseen { count exact }
        total { count exact }
        types {
          type { id code title }
          unread { count exact }
          latest { id title isRead isArchived }
        }
        views(first: 20) { id code externalId unread { count exact } }
      }
      few: overview(types: ["news", "talk"], cap: 3) {
        unread { count exact }
        unseen { count exact }
        total { count exact }
        types { type { id code } unread { count exact } }
      }
      views(first: 20) { id code externalId lastVisitedAt unread { count exact } }
      preferences {
        types { code enabled source }
        actions { code enabled source }
      }
      subscriptions(first: 20) { edges { node { id action target { id type externalId } } } }
      following(first: 20) { edges { node { id name } } }
      inbox(first: 100, filter: { state: ALL }) {
        edges {
          node {
            id title isRead readAt isArchived notificationId
            type { id code title }
            sender { id name }
            target { id type externalId }
          }
        }
      }
    }
  }`;

const count = ({ count, exact }) => (exact ? `${count}` : `${count}+`);

const counts = ({ unread, unseen, total }) => ({ unread: count(unread), unseen: count(unseen), total: count(total) });

const switches = (list) => list.map(({ code, enabled, source }) => `${code} ${enabled} ${source}`);

const target = (target) => target && `${target.type}/${target.externalId} ${target.id}`;

const user = (user) => user && `${user.id} ${user.name}`;

const latest = (item) => item && `${item.id} ${item.title} ${item.isRead} ${item.isArchived}`;

function overview({ types, views, ...rest }) {
  return {
    ...counts(rest),
    types: types.map(({ type, unread, latest: item }) => `${type.code} ${count(unread)} ${latest(item)}`),
    views: views.map((view) => `${view.code}/${view.externalId} ${view.id} ${count(view.unread)}`),
  };
}

function view({ id, code, externalId, lastVisitedAt, unread }) {
  return { id, key: `${code}/${externalId}`, unread: count(unread), lastVisitedAt };
}

function item({ id, title, isRead, readAt, isArchived, notificationId, type, sender, target: about }) {
  return { id, title, isRead, readAt, isArchived, notificationId, type: type.code, sender: user(sender), about: target(about) };
}

const nodes = ({ edges }) => edges.map(({ node }) => node);

/** Everything that a viewer's data show. Sorts subscriptions and follows, because stores append new ones at the end. */
export function shown(viewer) {
  return {
    user: user(viewer.user),
    groups: viewer.groups.map(({ code, title, memberCount }) => `${code} ${title} ${memberCount}`),
    overview: overview(viewer.overview),
    few: {
      ...counts(viewer.few),
      types: viewer.few.types.map(({ type, unread }) => `${type.code} ${count(unread)}`),
    },
    views: viewer.views.map(view),
    types: switches(viewer.preferences.types),
    actions: switches(viewer.preferences.actions),
    subscriptions: nodes(viewer.subscriptions)
      .map(({ id, action, target: about }) => `${action} of ${target(about)} ${id}`)
      .sort(),
    following: nodes(viewer.following).map(user).sort(),
    items: nodes(viewer.inbox).map(item),
  };
}

/** The current state on the server. */
export async function fresh(world) {
  const { viewer } = await world.read(FRESH);
  return shown(viewer);
}

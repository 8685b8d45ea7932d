// The bell of a user, as a partner's own page would show it: live, over the socket that GraphiQL's subscriptions take.

import { useEffect, useState } from 'react';

const QUERY = `subscription Bell {
  overviewChanged(cap: 99) {
    unread { count exact }
    types {
      type { code title }
      unread { count exact }
      latest { title createdAt isRead }
    }
  }
}`;

/** A count as a badge says it: with a plus where there are more than the cap. */
const spoken = ({ count, exact }) => (exact ? String(count) : `${count}+`);

export function Bell({ socket }) {
  const { overview, problem } = useOverview(socket);
  const unread = overview && spoken(overview.unread);
  const says = problem ?? (overview ? `${unread} unread` : 'Waiting for the server');
  const badge = problem ? '!' : overview?.unread.count > 0 && unread;

  return (
    <div className="bell">
      <button type="button" popoverTarget="latest" aria-label={`Notifications: ${says}`} title={says}>
        <svg aria-hidden="true"><use href="#bell" /></svg>
        {badge && <span className="badge">{badge}</span>}
      </button>
      <section id="latest" popover="auto" aria-label="Latest notifications">
        <h2>{says}</h2>
        <ul>{overview && latest(overview.types).map(row)}</ul>
      </section>
    </div>
  );
}

function latest(types) {
  return types
    .filter((entry) => entry.latest)
    .sort((one, other) => other.latest.createdAt.localeCompare(one.latest.createdAt));
}

function row({ type, unread, latest: { title, createdAt, isRead } }) {
  return (
    <li key={type.code} className={isRead ? '' : 'unread'}>
      {title}
      <small>{type.title} · {when(createdAt)}{unread.count > 0 && ` · ${spoken(unread)} unread`}</small>
    </li>
  );
}

function when(instant) {
  const at = new Date(instant);
  const isToday = at.toDateString() === new Date().toDateString();
  return at.toLocaleString(undefined, isToday ? { timeStyle: 'short' } : { dateStyle: 'medium', timeStyle: 'short' });
}

function useOverview(socket) {
  const [state, setState] = useState({});
  useEffect(() => {
    setState({});
    const fail = (problem) => setState((before) => ({ ...before, problem }));
    const unlisten = socket.on('closed', ({ reason }) => fail(reason || 'The server does not answer'));
    const unsubscribe = socket.subscribe({ query: QUERY }, {
      next: ({ data, errors }) => (data ? setState({ overview: data.overviewChanged }) : fail(errors[0].message)),
      error: (problem) => fail(problem.reason || problem.message || problem[0]?.message || 'The server does not answer'),
      complete: () => {},
    });
    return () => {
      unlisten();
      unsubscribe();
    };
  }, [socket]);
  return state;
}

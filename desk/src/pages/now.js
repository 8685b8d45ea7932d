// How the service does for the tenant, live.

import { html, nothing, svg } from 'lit';

import { ask, told } from '../api.js';
import { Status } from '../documents.js';
import { Page } from '../parts/part.js';
import { count, state, when } from '../parts/show.js';
import { span } from '../time.js';

/** How often it is asked, in milliseconds, and how many answers are kept. */
const AGAIN_MS = 5_000;
const KEPT = 60;

/** From how many seconds on what is due is late. */
const LATE_S = 10;

class Now extends Page {
  connectedCallback() {
    super.connectedCallback();
    this.seen = [];
    this.look();
    this.timer = setInterval(() => document.hidden || this.look(), AGAIN_MS);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  async look() {
    try {
      const { serviceStatus: status } = await ask(Status);
      this.set({ status, failure: null, seen: [...this.seen, status].slice(-KEPT) });
    } catch (error) {
      this.set({ failure: told(error) });
    }
  }

  render() {
    const { status, failure } = this;
    return html`<h1 tabindex="-1">Now</h1>
      ${status ? this.whole(status) : state({ isLoading: !failure, loadFailure: failure, isEmpty: true, empty: '' })}`;
  }

  whole(status) {
    const isLate = status.overdueSeconds >= LATE_S;
    const isWell = status.healthy && !isLate && !this.failure;
    return html`
      <p class="verdict ${isWell ? 'good' : 'bad'}" role="status">${this.verdict(status, isLate)}</p>
      <ul class="tiles">
        ${this.tile('Sent in the last minute', count(status.sentLastMinute), 'sentLastMinute')}
        ${this.tile('Sent in the last hour', count(status.sentLastHour), 'sentLastHour')}
        ${this.tile('Sessions on this node', count(status.sessionCount), 'sessionCount')}
        ${this.tile('Scheduled', `${count(status.scheduled.count)}${status.scheduled.exact ? '' : '+'}`, null, status.nextScheduledAt ? html`next ${when(status.nextScheduledAt)}` : 'nothing waits')}
        ${this.tile('Longest overdue', span(status.overdueSeconds), 'overdueSeconds', isLate ? 'late' : 'in time')}
      </ul>
      <p class="muted">Tidings ${status.version} · looked at ${when(status.now)}, and again every five seconds · what goes to the outside is at <a href="/desk/deliveries">Deliveries</a>.</p>`;
  }

  verdict({ healthy, overdueSeconds }, isLate) {
    if (this.failure) return this.failure;
    if (!healthy) return 'Nothing is published: the database takes no writes, or the clocks disagree.';
    return isLate ? `What is scheduled is late by ${span(overdueSeconds)}.` : 'All is well.';
  }

  tile(name, value, kept, says) {
    return html`<li class="card tile"><h2>${name}</h2><p class="size">${value}</p>${says ? html`<p class="muted">${says}</p>` : nothing}${kept ? this.curve(kept) : nothing}</li>`;
  }

  /** How it went while the page is open. */
  curve(name) {
    const numbers = this.seen.map((of) => of[name]);
    if (numbers.length < 2) return nothing;
    const most = Math.max(...numbers, 1);
    const points = numbers.map((number, place) => `${(100 - ((numbers.length - 1 - place) * 100) / (KEPT - 1)).toFixed(1)},${(23 - (22 * number) / most).toFixed(1)}`);
    return html`<svg class="curve" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">${svg`<polyline points=${points.join(' ')}></polyline>`}</svg>`;
  }
}
customElements.define('desk-now', Now);

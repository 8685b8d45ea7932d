// The live status of the service for this tenant.

import { html, nothing, svg } from 'lit';

import { ask, told } from '../api.js';
import { Status } from '../documents.js';
import { Page } from '../parts/part.js';
import { count, state, when } from '../parts/show.js';
import { span } from '../time.js';

/** The polling interval in milliseconds, and the number of answers kept. */
const AGAIN_MS = 5_000;
const KEPT = 60;

/** Delays from this many seconds on are shown as late. */
const LATE_S = 10;

/** A node without a heartbeat for this many seconds may be gone. */
const SILENT_S = 5;

/** The sum of the tenant's activity over all nodes that reported it. */
const summed = (nodes) => Object.fromEntries(
  ['sessionCount', 'syncsLastMinute', 'errorsLastMinute'].map((name) => [name, nodes.reduce((sum, of) => sum + (of[name] ?? 0), 0)]),
);

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
      const { serviceStatus } = await ask(Status);
      const status = { ...serviceStatus, ...summed(serviceStatus.nodes) };
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
    const isDeaf = status.bus?.connected === false;
    const isWell = status.healthy && !isLate && !isDeaf && !this.failure;
    return html`
      <p class="verdict ${isWell ? 'good' : 'bad'}" role="status">${this.verdict(status, isLate, isDeaf)}</p>
      <ul class="tiles">
        ${this.tile('Sent in the last minute', count(status.sentLastMinute), 'sentLastMinute')}
        ${this.tile('Sent in the last hour', count(status.sentLastHour), 'sentLastHour')}
        ${this.tile('Open sessions', count(status.sessionCount), 'sessionCount')}
        ${this.tile('Inboxes synced in the last minute', count(status.syncsLastMinute), 'syncsLastMinute')}
        ${this.tile('Errors in the last minute', count(status.errorsLastMinute), 'errorsLastMinute', 'not the callers’ fault')}
        ${this.tile('Scheduled', `${count(status.scheduled.count)}${status.scheduled.exact ? '' : '+'}`, null, status.nextScheduledAt ? html`next ${when(status.nextScheduledAt)}` : 'nothing waits')}
        ${this.tile('Longest overdue', span(status.overdueSeconds), 'overdueSeconds', isLate ? 'late' : 'in time')}
      </ul>
      ${this.nodes(status)}
      <p class="muted">Tidings ${status.version} · looked at ${when(status.now)}, and again every five seconds · what goes to the outside is at <a href="/desk/deliveries">Deliveries</a>.</p>`;
  }

  nodes({ nodes, bus, now }) {
    const silence = ({ heardAt }) => Math.max(0, Math.round((new Date(now) - new Date(heardAt)) / 1000));
    const heard = (of) => (silence(of) < SILENT_S ? 'now' : html`<span class="badge warn">${span(silence(of))} ago</span>`);
    return html`<h2>Nodes</h2>
      <p class="muted">${bus ? (bus.connected ? `They tell each other what is new within ${bus.lagSeconds < 1 ? `${Math.max(1, Math.round(bus.lagSeconds * 1000))} ms` : span(Math.round(bus.lagSeconds))}.` : 'The bus between them is away: sessions are late by up to a second.') : 'There is no bus between nodes here.'}</p>
      <table class="cards"><caption class="vh">Nodes</caption>
        <thead><tr><th>Node</th><th>Version</th><th>Since</th><th>Heard</th><th class="number">Sessions</th><th class="number">Syncs a minute</th><th class="number">Errors a minute</th></tr></thead>
        <tbody>${nodes.map((of, place) => html`<tr><th scope="row"><bdi>${of.name ?? 'unnamed'}</bdi>${place === 0 && nodes.length > 1 ? html` <span class="muted">(answers)</span>` : nothing}</th>
          <td data-label="Version" class="code">${of.version}</td><td data-label="Since">${when(of.startedAt)}</td><td data-label="Heard">${heard(of)}</td>
          <td data-label="Sessions" class="number">${count(of.sessionCount)}</td><td data-label="Syncs a minute" class="number">${count(of.syncsLastMinute)}</td>
          <td data-label="Errors a minute" class="number">${count(of.errorsLastMinute)}</td></tr>`)}</tbody></table>`;
  }

  verdict({ healthy, overdueSeconds }, isLate, isDeaf) {
    if (this.failure) return this.failure;
    if (!healthy) return 'Nothing is published: the database takes no writes, or the clocks disagree.';
    if (isLate) return `What is scheduled is late by ${span(overdueSeconds)}.`;
    return isDeaf ? 'This node does not hear the others: sessions are late by up to a second.' : 'All is well.';
  }

  tile(name, value, kept, says) {
    return html`<li class="card tile"><h2>${name}</h2><p class="size">${value}</p>${says ? html`<p class="muted">${says}</p>` : nothing}${kept ? this.curve(kept) : nothing}</li>`;
  }

  /** The history of a number while the page is open. */
  curve(name) {
    const numbers = this.seen.map((of) => of[name]);
    if (numbers.length < 2) return nothing;
    const most = Math.max(...numbers, 1);
    const points = numbers.map((number, place) => `${(100 - ((numbers.length - 1 - place) * 100) / (KEPT - 1)).toFixed(1)},${(23 - (22 * number) / most).toFixed(1)}`);
    return html`<svg class="curve" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">${svg`<polyline points=${points.join(' ')}></polyline>`}</svg>`;
  }
}
customElements.define('desk-now', Now);

// The live status of the service for this tenant.

import { html, nothing, svg } from 'lit';

import { ask, told } from '../api.js';
import { Status } from '../documents.js';
import { Page } from '../parts/part.js';
import { count, state, when } from '../parts/show.js';
import { rich, t } from '../texts.js';
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
      this.set({ failure: error });
    }
  }

  render() {
    const { status, failure } = this;
    return html`<h1 tabindex="-1">${t('place.now')}</h1>
      ${status ? this.whole(status) : state({ isLoading: !failure, loadFailure: failure, isEmpty: true, empty: '' })}`;
  }

  whole(status) {
    const isLate = status.overdueSeconds >= LATE_S;
    const isDeaf = status.bus?.connected === false;
    const isWell = status.healthy && !isLate && !isDeaf && !this.failure;
    return html`
      <p class="verdict ${isWell ? 'good' : 'bad'}" role="status">${this.verdict(status, isLate, isDeaf)}</p>
      <ul class="tiles">
        ${this.tile(t('now.sentMinute'), count(status.sentLastMinute), 'sentLastMinute')}
        ${this.tile(t('now.sentHour'), count(status.sentLastHour), 'sentLastHour')}
        ${this.tile(t('now.sessions'), count(status.sessionCount), 'sessionCount')}
        ${this.tile(t('now.syncs'), count(status.syncsLastMinute), 'syncsLastMinute')}
        ${this.tile(t('now.errors'), count(status.errorsLastMinute), 'errorsLastMinute', t('now.errorsHint'))}
        ${this.tile(t('now.scheduled'), `${count(status.scheduled.count)}${status.scheduled.exact ? '' : '+'}`, null, status.nextScheduledAt ? rich('now.next', { time: when(status.nextScheduledAt) }) : t('now.nothingWaits'))}
        ${this.tile(t('now.overdue'), span(status.overdueSeconds), 'overdueSeconds', isLate ? t('now.late') : t('now.inTime'))}
      </ul>
      ${this.nodes(status)}
      <p class="muted">${rich('now.about', { version: status.version, time: when(status.now), deliveries: html`<a href="/desk/deliveries">${t('place.deliveries')}</a>` })}</p>`;
  }

  nodes({ nodes, bus, now }) {
    const silence = ({ heardAt }) => Math.max(0, Math.round((new Date(now) - new Date(heardAt)) / 1000));
    const heard = (of) => (silence(of) < SILENT_S ? t('now.heardNow') : html`<span class="badge warn">${t('now.ago', { span: span(silence(of)) })}</span>`);
    const lag = bus?.lagSeconds < 1 ? t('span.millis', { n: Math.max(1, Math.round(bus.lagSeconds * 1000)) }) : span(Math.round(bus?.lagSeconds ?? 0));
    return html`<h2>${t('now.nodes')}</h2>
      <p class="muted">${bus ? t(bus.connected ? 'now.bus' : 'now.busAway', { span: lag }) : t('now.noBus')}</p>
      <table class="cards"><caption class="vh">${t('now.nodes')}</caption>
        <thead><tr><th>${t('now.node')}</th><th>${t('now.version')}</th><th>${t('now.since')}</th><th>${t('now.heard')}</th><th class="number">${t('now.nodeSessions')}</th><th class="number">${t('now.nodeSyncs')}</th><th class="number">${t('now.nodeErrors')}</th></tr></thead>
        <tbody>${nodes.map((of, place) => html`<tr><th scope="row"><bdi>${of.name ?? t('now.unnamed')}</bdi>${place === 0 && nodes.length > 1 ? html` <span class="muted">${t('now.answers')}</span>` : nothing}</th>
          <td data-label=${t('now.version')} class="code">${of.version}</td><td data-label=${t('now.since')}>${when(of.startedAt)}</td><td data-label=${t('now.heard')}>${heard(of)}</td>
          <td data-label=${t('now.nodeSessions')} class="number">${count(of.sessionCount)}</td><td data-label=${t('now.nodeSyncs')} class="number">${count(of.syncsLastMinute)}</td>
          <td data-label=${t('now.nodeErrors')} class="number">${count(of.errorsLastMinute)}</td></tr>`)}</tbody></table>`;
  }

  verdict({ healthy, overdueSeconds }, isLate, isDeaf) {
    if (this.failure) return told(this.failure);
    if (!healthy) return t('now.unhealthy');
    if (isLate) return t('now.isLate', { span: span(overdueSeconds) });
    return isDeaf ? t('now.deaf') : t('now.well');
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

// Sent and scheduled notifications, newest first.

import { html, nothing } from 'lit';

import { SentList, Types } from '../documents.js';
import { ask } from '../api.js';
import { select, text } from '../parts/form.js';
import { Page } from '../parts/part.js';
import { badge, count, more, person, state, when, word } from '../parts/show.js';
import { to } from '../route.js';

const DAY_MS = 86_400_000;
const KINDS = ['ANNOUNCEMENT', 'MESSAGE', 'REMINDER'];
const STATUSES = ['SCHEDULED', 'PUBLISHED', 'EXPIRED', 'RETRACTED'];

/** A short description of the audience. */
export function audience({ audience: { everyone, groups, userCount }, kind, target, action }) {
  if (everyone) return 'Everyone';
  if (groups.length > 0) return groups.map(({ title, code }) => title || code).join(', ');
  if (kind === 'REMINDER') return target ? `Subscribers of ${target.type} ${target.externalId}: ${action}` : 'Subscribers';
  return userCount === 1 ? '1 person' : `${count(userCount)} people`;
}

class Sent extends Page {
  constructor() {
    super();
    Object.assign(this, { nodes: [], types: [] });
  }

  connectedCallback() {
    super.connectedCallback();
    ask(Types).then(({ messageTypes }) => this.set({ types: messageTypes }), () => {});
  }

  willUpdate(changed) {
    if (changed.has('query')) this.fill();
  }

  get filter() {
    const one = (name) => this.query.get(name) || undefined;
    const [targetType, targetId] = [one('targetType'), one('targetId')];
    return {
      types: one('type') && [one('type')],
      kinds: one('kind') && [one('kind')],
      statuses: one('status') && [one('status')],
      sender: one('sender'),
      text: one('text'),
      since: one('since') && new Date(`${one('since')}T00:00`).toISOString(),
      until: one('until') && new Date(new Date(`${one('until')}T00:00`).getTime() + DAY_MS).toISOString(),
      target: targetType && targetId ? { type: targetType, externalId: targetId } : undefined,
    };
  }

  async fill(after) {
    const data = await this.load(SentList, { filter: this.filter, after });
    if (!data) return;
    const { nodes, pageInfo } = data.sentNotifications;
    this.set({ nodes: after ? [...this.nodes, ...nodes] : nodes, pageInfo });
  }

  render() {
    const { nodes, isLoading, loadFailure, pageInfo } = this;
    return html`
      <div class="head"><h1 tabindex="-1">Sent</h1><a class="button primary" href=${to('compose')}>Compose</a></div>
      ${this.filters()}
      ${state({ isLoading, loadFailure, isEmpty: nodes.length === 0, empty: 'Nothing was sent that fits.' })}
      ${nodes.length > 0 ? html`<table class="cards" aria-busy=${String(Boolean(isLoading))}>
        <caption class="vh">What was sent, newest first</caption>
        <thead><tr><th>Title</th><th>Type</th><th>For</th><th>Status</th><th>When</th><th class="number">Delivered</th><th class="number">Read</th></tr></thead>
        <tbody>${nodes.map((of) => this.row(of))}</tbody>
      </table>` : nothing}
      ${more(pageInfo, () => this.fill(pageInfo.endCursor), isLoading)}`;
  }

  row(of) {
    return html`<tr>
      <th scope="row"><a href=${to('sent', [of.id])}><bdi>${of.shown.title}</bdi></a><small>${[of.sender && html`from ${person(of.sender)}`, of.sentBy && html`by <bdi>${of.sentBy.name}</bdi>`, of.rule && html`by the rule <bdi>${of.rule}</bdi>`].filter(Boolean).map((part, place) => html`${place ? ' · ' : ''}${part}`)}</small></th>
      <td data-label="Type">${of.type.title}<small>${word(of.kind)}</small></td>
      <td data-label="For"><bdi>${audience(of)}</bdi></td>
      <td data-label="Status">${badge(of.status)}</td>
      <td data-label="When">${when(of.publishedAt ?? of.publishAt ?? of.createdAt)}</td>
      <td data-label="Delivered" class="number">${count(of.stats.deliveredCount)}</td>
      <td data-label="Read" class="number">${count(of.stats.readCount)}</td>
    </tr>`;
  }

  filters() {
    const of = (name, label, options) => select({
      name: `filter-${name}`, label, value: this.query.get(name) ?? '', set: (value) => this.narrow('sent', { [name]: value }), options: [['', 'All'], ...options],
    });
    const typed = (name, label, more) => text({ name: `filter-${name}`, label, value: this.typed?.[name] ?? this.query.get(name) ?? '', set: (value) => this.narrowSoon('sent', { [name]: value.trim() }), ...more });
    const isMore = this.isMore ?? ['sender', 'targetType', 'targetId', 'kind'].some((name) => this.query.get(name));
    return html`<form class="filters" role="search" aria-label="Filters" @submit=${(event) => event.preventDefault()}>
      ${typed('text', 'Title has')}
      ${of('type', 'Type', this.types.map(({ code, title }) => [code, title]))}
      ${of('status', 'Status', STATUSES.map((status) => [status, word(status)]))}
      ${typed('since', 'From', { type: 'date' })}
      ${typed('until', 'To', { type: 'date' })}
      ${isMore ? html`
        ${of('kind', 'Kind', KINDS.map((kind) => [kind, word(kind)]))}
        ${typed('sender', 'Sender', { isCode: true })}
        ${typed('targetType', 'Target type', { isCode: true })}
        ${typed('targetId', 'Target id', { isCode: true })}`
        : html`<button type="button" class="quiet end" @click=${() => this.set({ isMore: true })}>More filters</button>`}
    </form>`;
  }
}
customElements.define('desk-sent', Sent);

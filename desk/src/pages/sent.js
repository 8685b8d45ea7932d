// Sent and scheduled notifications, newest first.

import { html, nothing } from 'lit';

import { SentList, Types } from '../documents.js';
import { ask } from '../api.js';
import { select, text } from '../parts/form.js';
import { Page } from '../parts/part.js';
import { badge, count, more, people, person, state, when } from '../parts/show.js';
import { to } from '../route.js';
import { rich, t } from '../texts.js';
import { word } from '../words.js';

const DAY_MS = 86_400_000;
const KINDS = ['ANNOUNCEMENT', 'MESSAGE', 'REMINDER'];
const STATUSES = ['SCHEDULED', 'PUBLISHED', 'EXPIRED', 'RETRACTED'];

/** A short description of the audience. */
export function audience({ audience: { everyone, groups, userCount }, kind, target, action }) {
  if (everyone) return t('everyone');
  if (groups.length > 0) return groups.map(({ title, code }) => title || code).join(', ');
  if (kind === 'REMINDER') return target ? t('sent.subscribersOf', { target: `${target.type} ${target.externalId}`, action }) : t('sent.subscribers');
  return people(userCount);
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
      <div class="head"><h1 tabindex="-1">${t('place.sent')}</h1><a class="button primary" href=${to('compose')}>${t('place.compose')}</a></div>
      ${this.filters()}
      ${state({ isLoading, loadFailure, isEmpty: nodes.length === 0, empty: t('sent.empty') })}
      ${nodes.length > 0 ? html`<table class="cards" aria-busy=${String(Boolean(isLoading))}>
        <caption class="vh">${t('sent.table')}</caption>
        <thead><tr><th>${t('title')}</th><th>${t('type')}</th><th>${t('for')}</th><th>${t('status')}</th><th>${t('when')}</th><th class="number">${t('reach.delivered')}</th><th class="number">${t('reach.read')}</th></tr></thead>
        <tbody>${nodes.map((of) => this.row(of))}</tbody>
      </table>` : nothing}
      ${more(pageInfo, () => this.fill(pageInfo.endCursor), isLoading)}`;
  }

  row(of) {
    return html`<tr>
      <th scope="row"><a href=${to('sent', [of.id])}><bdi>${of.shown.title}</bdi></a><small>${[of.sender && rich('sent.from', { user: person(of.sender) }), of.sentBy && rich('sent.by', { name: html`<bdi>${of.sentBy.name}</bdi>` }), of.rule && rich('sent.byRule', { rule: html`<bdi>${of.rule}</bdi>` })].filter(Boolean).map((part, place) => html`${place ? ' · ' : ''}${part}`)}</small></th>
      <td class="type" data-label=${t('type')}>${of.type.title}<small>${word(of.kind)}</small></td>
      <td data-label=${t('for')}><bdi>${audience(of)}</bdi></td>
      <td data-label=${t('status')}>${badge(of.status)}</td>
      <td data-label=${t('when')}>${when(of.publishedAt ?? of.publishAt ?? of.createdAt)}</td>
      <td data-label=${t('reach.delivered')} class="number">${count(of.stats.deliveredCount)}</td>
      <td data-label=${t('reach.read')} class="number">${count(of.stats.readCount)}</td>
    </tr>`;
  }

  filters() {
    const of = (name, label, options) => select({
      name: `filter-${name}`, label, value: this.query.get(name) ?? '', set: (value) => this.narrow('sent', { [name]: value }), options: [['', t('all')], ...options],
    });
    const typed = (name, label, more) => text({ name: `filter-${name}`, label, value: this.typed?.[name] ?? this.query.get(name) ?? '', set: (value) => this.narrowSoon('sent', { [name]: value.trim() }), ...more });
    const isMore = this.isMore ?? ['sender', 'targetType', 'targetId', 'kind'].some((name) => this.query.get(name));
    return html`<form class="filters" role="search" aria-label=${t('filters')} @submit=${(event) => event.preventDefault()}>
      ${typed('text', t('sent.text'))}
      ${of('type', t('type'), this.types.map(({ code, title }) => [code, title]))}
      ${of('status', t('status'), STATUSES.map((status) => [status, word(status)]))}
      ${typed('since', t('since'), { type: 'date' })}
      ${typed('until', t('sent.until'), { type: 'date' })}
      ${isMore ? html`
        ${of('kind', t('kind'), KINDS.map((kind) => [kind, word(kind)]))}
        ${typed('sender', t('sender'), { isCode: true })}
        ${typed('targetType', t('targetType'), { isCode: true })}
        ${typed('targetId', t('sent.targetId'), { isCode: true })}`
        : html`<button type="button" class="quiet end" @click=${() => this.set({ isMore: true })}>${t('sent.moreFilters')}</button>`}
    </form>`;
  }
}
customElements.define('desk-sent', Sent);

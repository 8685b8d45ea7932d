// The audit log, newest first: actions of services and operators that concern others.

import { html, nothing } from 'lit';

import { ask } from '../api.js';
import { Audit as Log } from '../documents.js';
import { select, text } from '../parts/form.js';
import { Page } from '../parts/part.js';
import { actor, more, problem, state, when } from '../parts/show.js';
import { to } from '../route.js';
import { rich, t } from '../texts.js';
import { deed, word } from '../words.js';

const KINDS = ['NOTIFICATION', 'USER', 'GROUP', 'MESSAGE_TYPE', 'REASON', 'RULE', 'ENDPOINT', 'VIEW', 'VIEW_CODE', 'TARGET_TYPE'];

/** The actions most often searched for. Any other can be given in the address. */
const ACTIONS = ['sendAnnouncement', 'sendMessage', 'sendReminder', 'updateSentNotification', 'retractSentNotification', 'exportUser', 'eraseUser', 'saveMessageType',
  'deleteMessageType', 'addUserGroupMembers', 'removeUserGroupMembers', 'updatePreferences', 'replayOutboundDeliveries'];

const DAY_MS = 86_400_000;

/** The most lines in a downloaded file. For more, use the API. */
const LINES = 10_000;

/** Pages that show the subject of an action. */
const PLACES = {
  NOTIFICATION: (id) => to('sent', [id]),
  USER: (id) => to('users', [id]),
  MESSAGE_TYPE: (id) => to('catalogue', ['types', id]),
  GROUP: () => to('catalogue', ['groups']),
  REASON: () => to('catalogue', ['reasons']),
  VIEW_CODE: () => to('catalogue', ['views']),
  TARGET_TYPE: () => to('catalogue', ['targets']),
  RULE: () => to('rules'),
  ENDPOINT: (id) => to('deliveries', [], { endpoint: id }),
};

class Audit extends Page {
  constructor() {
    super();
    this.nodes = [];
  }

  willUpdate(changed) {
    if (changed.has('query')) this.fill();
  }

  get filter() {
    const one = (name) => this.query.get(name) || undefined;
    const midnight = (day) => new Date(`${day}T00:00`).getTime();
    return {
      actor: one('actor'),
      actions: one('action') && [one('action')],
      subject: one('kind') && one('id') ? { kind: one('kind'), id: one('id') } : undefined,
      since: one('since') && new Date(midnight(one('since'))).toISOString(),
      until: one('until') && new Date(midnight(one('until')) + DAY_MS).toISOString(),
    };
  }

  async fill(after) {
    const data = await this.load(Log, { filter: this.filter, first: 50, after });
    if (!data) return;
    const { nodes, pageInfo } = data.auditLog;
    this.set({ nodes: after ? [...this.nodes, ...nodes] : nodes, pageInfo });
  }

  render() {
    const { nodes, pageInfo, isLoading, loadFailure, failure } = this;
    return html`
      <div class="head"><h1 tabindex="-1">${t('place.audit')}</h1><button type="button" ?disabled=${this.isBusy} @click=${() => this.download()}>${t('audit.download')}</button></div>
      ${problem(failure)}
      ${this.filters()}
      ${state({ isLoading, loadFailure, isEmpty: nodes.length === 0, empty: t('audit.empty') })}
      ${nodes.length > 0 ? html`<table class="cards" aria-busy=${String(Boolean(isLoading))}><caption class="vh">${t('audit.table')}</caption>
        <thead><tr><th>${t('audit.what')}</th><th>${t('audit.to')}</th><th>${t('audit.by')}</th><th>${t('audit.from')}</th><th>${t('when')}</th></tr></thead>
        <tbody>${nodes.map((of) => html`<tr>
          <th scope="row">${deed(of.action)}</th>
          <td data-label=${t('audit.to')} class="named">${this.subject(of)}</td>
          <td data-label=${t('audit.by')} class="named">${actor(of.actor)}</td>
          <td data-label=${t('audit.from')} class="named">${word(of.actor.origin)}</td>
          <td data-label=${t('when')}>${when(of.at)}</td></tr>`)}</tbody></table>` : nothing}
      ${more(pageInfo, () => this.fill(pageInfo.endCursor), isLoading)}`;
  }

  subject({ subject, subjectKind, count: number }) {
    const many = number > 1 ? html`<span class="muted">${t('audit.users', { n: number })}</span>` : nothing;
    if (!subject) return html`${word(subjectKind)}${many}`;
    const address = PLACES[subjectKind]?.(subject);
    const shown = subjectKind === 'NOTIFICATION' || subjectKind === 'ENDPOINT' ? t('audit.subject') : subject;
    return html`${word(subjectKind)} ${address ? html`<a href=${address}><bdi>${shown}</bdi></a>` : html`<bdi>${shown}</bdi>`}${many}`;
  }

  filters() {
    const of = (name, label, options) => select({ name: `filter-${name}`, label, value: this.query.get(name) ?? '', set: (value) => this.narrow('audit', { [name]: value }), options: [['', t('all')], ...options] });
    const typed = (name, label, type) => text({ name: `filter-${name}`, label, type, value: this.typed?.[name] ?? this.query.get(name) ?? '', set: (value) => this.narrowSoon('audit', { [name]: value.trim() }) });
    return html`<form class="filters" role="search" aria-label=${t('filters')} @submit=${(event) => event.preventDefault()}>
      ${typed('actor', t('audit.actor'))}
      ${of('action', t('audit.what'), ACTIONS.map((one) => [one, deed(one)]))}
      ${of('kind', t('audit.to'), KINDS.map((one) => [one, word(one)]))}
      ${this.query.get('kind') ? typed('id', t('audit.id')) : nothing}
      ${typed('since', t('since'), 'date')}
      ${typed('until', t('audit.until'), 'date')}
    </form>`;
  }

  /** Downloads the entries up to the limit, one per line, in the format of `tidings audit`. */
  download() {
    return this.act(async () => {
      const lines = [];
      for (let after; after !== null && lines.length < LINES; ) {
        const { auditLog: page } = await ask(Log, { filter: this.filter, first: 200, after });
        lines.push(...page.nodes.map((of) => JSON.stringify(of)));
        after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
      }
      const url = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'application/jsonl' }));
      Object.assign(document.createElement('a'), { href: url, download: 'audit.jsonl' }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      this.say(() => t(lines.length >= LINES ? 'audit.downloadedSome' : 'audit.downloaded', { n: lines.length }));
    });
  }
}
customElements.define('desk-audit', Audit);

// One notification: its content, its audience, and actions that can still change it.

import { html, nothing } from 'lit';

import { ask } from '../api.js';
import { Amend, Retract, SentOne } from '../documents.js';
import { paramsOf } from '../draft.js';
import { confirm } from '../parts/dialog.js';
import { area, select, text } from '../parts/form.js';
import { Page } from '../parts/part.js';
import '../parts/picker.js';
import { actor, badge, item, overTime, person, problem, reach, state, when } from '../parts/show.js';
import { go, to } from '../route.js';
import { list, rich, t } from '../texts.js';
import { OWN_ZONE, ZONES, inZone, instant, long, wall } from '../time.js';
import '../why.js';
import { deed, word } from '../words.js';
import { audience } from './sent.js';

/** The refresh interval while the page is visible, in milliseconds. */
const AGAIN_MS = 15_000;

const PATHS = ['input.title', 'input.body', 'input.link', 'input.params', 'input.publishAt', 'input.expiresAt'];

function paramsHint(template) {
  const params = paramsOf(template);
  return params.length > 0 ? t('sentOne.paramsHint', { params: list(params) }) : t('sentOne.theseHint');
}

class Notification extends Page {
  connectedCallback() {
    super.connectedCallback();
    this.timer = setInterval(() => document.hidden || this.isBusy || this.editing || this.fill(), AGAIN_MS);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  willUpdate(changed) {
    if (!changed.has('rest') || this.rest[0] === this.shownId) return;
    Object.assign(this, { shownId: this.rest[0], of: null, editing: null, failure: null });
    this.fill();
  }

  async fill() {
    const data = await this.load(SentOne, { id: this.rest[0] });
    if (data) this.set({ of: data.sentNotification, isGone: data.sentNotification === null });
  }

  render() {
    const { of, isLoading, loadFailure, isGone } = this;
    // Keep the heading the same element, because it may have the focus.
    return html`
      <div class="head"><div><p class="crumb"><a href=${to('sent')}>${t('place.sent')}</a></p><h1 tabindex="-1"><bdi>${of?.shown.title ?? t('notification')}</bdi></h1></div>
        <div class="actions">${of ? this.acts(of) : nothing}</div></div>
      ${of ? this.whole(of)
        : state({ isLoading: isLoading && !isGone, loadFailure, isEmpty: true, empty: t('sentOne.gone') })}`;
  }

  whole(of) {
    return html`
      ${this.editing ? nothing : problem(this.failure)}
      <div class="columns">
        <div>
          <section class="card"><h2>${t('asSeen')}</h2>${item({ ...of.shown, type: of.type.title })}</section>
          ${this.editing === 'text' ? this.amending(of) : nothing}
          ${this.editing === 'time' ? this.rescheduling() : nothing}
          ${this.why()}
        </div>
        <div>
          <section class="card"><h2>${t('sentOne.reach')}</h2>
            ${of.status === 'SCHEDULED' ? html`<p class="muted">${rich('sentOne.waits', { time: when(of.publishAt) })}</p>` : html`${reach(of.stats)}${overTime(of)}`}
            ${this.deliveries(of)}</section>
          <section class="card"><h2>${t('sentOne.about')}</h2>${this.facts(of)}</section>
          ${of.history.length > 0 ? html`<section class="card"><h2>${t('sentOne.history')}</h2>
            <ul class="list">${of.history.map((act) => html`<li><span>${rich('sentOne.deed', { deed: deed(act.action), actor: actor(act.actor) })}</span> ${when(act.at)}</li>`)}</ul></section>` : nothing}
        </div>
      </div>`;
  }

  acts(of) {
    const isOpen = of.status === 'PUBLISHED' || of.status === 'SCHEDULED';
    if (!isOpen) return nothing;
    const isScheduled = of.status === 'SCHEDULED';
    return html`
      <button type="button" ?disabled=${this.isBusy} @click=${() => this.edit('text')}>${t('sentOne.amend')}</button>
      ${isScheduled ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.edit('time')}>${t('sentOne.reschedule')}</button>` : nothing}
      <button type="button" class="danger" ?disabled=${this.isBusy} @click=${() => this.retract()}>${t('asks', { action: isScheduled ? t('sentOne.cancel') : t('sentOne.retract') })}</button>`;
  }

  facts(of) {
    const row = (name, value) => (!value ? nothing : html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
    return html`<dl class="facts column">
      ${row(t('status'), badge(of.status))}
      ${row(t('type'), of.type.title)}
      ${row(t('kind'), word(of.kind))}
      ${row(t('for'), html`<bdi>${audience(of)}</bdi>`)}
      ${row(t('sender'), of.sender && person(of.sender))}
      ${row(t('target'), of.target && html`<bdi>${of.target.type} ${of.target.externalId}</bdi>`)}
      ${row(t('action'), of.action)}
      ${row(t('rule'), of.rule)}
      ${row(t('sentOne.sentBy'), of.sentBy && actor(of.sentBy))}
      ${row(t('sentOne.sent'), when(of.createdAt))}
      ${row(t('sentOne.published'), of.publishedAt && when(of.publishedAt))}
      ${row(t('sentOne.scheduledFor'), of.status === 'SCHEDULED' && when(of.publishAt))}
      ${row(t('sentOne.amended'), of.updatedAt && when(of.updatedAt))}
      ${row(t('expires'), of.expiresAt && when(of.expiresAt))}
      ${row(t('sentOne.retracted'), of.retractedAt && when(of.retractedAt))}
      ${row(t('id'), html`<span class="code wrap">${of.id}</span>`)}
    </dl>`;
  }

  deliveries({ id, deliveries }) {
    if (deliveries.length === 0) return nothing;
    return html`<h3>${t('sentOne.channels')}</h3><ul class="list">${deliveries.map(({ channel, pending, delivered, dead }) => html`<li>
      <a href=${to('deliveries', [], { notification: id, channel })}>${word(channel)}</a>
      <span>${t('sentOne.deliveries', { delivered, pending, dead })}</span></li>`)}</ul>`;
  }

  why() {
    const user = this.query.get('user') ?? '';
    return html`<section class="card"><h2>${t('why.title')}</h2>
      <tidings-picker name="whom" label=${t('user')} takes @tidings-picked=${({ detail }) => go(to('sent', this.rest, { user: detail.id }), { replaces: true })}></tidings-picker>
      ${user ? html`<h3><a href=${to('users', [user])}><bdi>${user}</bdi></a></h3>` : nothing}
      <desk-why .notification=${this.rest[0]} .user=${user}></desk-why></section>`;
  }

  async edit(editing) {
    const { of } = this;
    this.set({ editing, failure: null, text: { title: of.title, body: of.body ?? '', link: of.link ?? '', params: '' }, zone: OWN_ZONE, at: of.publishAt ? wall(of.publishAt, OWN_ZONE) : '' });
    await this.updateComplete;
    this.querySelector('form.editing input, form.editing textarea')?.focus();
  }

  amending(of) {
    const { text: said, failure } = this;
    const change = (name) => (value) => this.set({ text: { ...said, [name]: value } });
    const fields = of.type.template ? [['params', area, t('sentOne.params')]] : ['title', 'body', 'link'].map((name) => [name, name === 'body' ? area : text, t(name)]);
    const rest = of.type.template ? ['title', 'body', 'link'].filter((name) => !of.type.template[name]) : [];
    return html`<form class="card editing" @submit=${(event) => {
      event.preventDefault();
      this.amend(of);
    }}>
      <h2>${t('sentOne.amend')}</h2>
      <p class="muted">${t('sentOne.amendText')}</p>
      ${problem(failure, PATHS)}
      ${[...fields, ...rest.map((name) => [name, name === 'body' ? area : text, t(name)])].map(([name, control, label]) =>
        control({ name: `amend-${name}`, label, value: said[name], set: change(name), failure, path: `input.${name}`, isCode: name === 'params', wrong: name === 'params' && this.jsonFlaw ? t('noJson', { detail: this.jsonFlaw }) : undefined,
          hint: name === 'params' ? paramsHint(of.type.template) : undefined }))}
      <p class="actions"><button type="button" @click=${() => this.set({ editing: null })}>${t('cancel')}</button><button class="primary" ?disabled=${this.isBusy}>${t('save')}</button></p>
    </form>`;
  }

  /** The input with changed fields only; emptied fields go into `clear`. */
  patch(of) {
    const { text: said } = this;
    const own = ['title', 'body', 'link'].filter((name) => !of.type.template?.[name] && said[name].trim() !== (of[name] ?? ''));
    const input = Object.fromEntries(own.filter((name) => said[name].trim()).map((name) => [name, said[name].trim()]));
    const clear = own.filter((name) => !said[name].trim()).map((name) => name.toUpperCase());
    if (clear.length > 0) input.clear = clear;
    if (said.params.trim()) input.params = JSON.parse(said.params);
    return input;
  }

  async amend(of) {
    this.set({ jsonFlaw: undefined });
    let input;
    try {
      input = this.patch(of);
    } catch (error) {
      this.set({ jsonFlaw: error.message });
      return;
    }
    if (Object.keys(input).length === 0) {
      this.set({ editing: null });
      return;
    }
    await this.change(Amend, { id: of.id, input }, 'sentOne.isAmended');
  }

  rescheduling() {
    const { at, zone, failure } = this;
    const found = instant(at, zone);
    return html`<form class="card editing" @submit=${(event) => {
      event.preventDefault();
      if (found) this.change(Amend, { id: this.of.id, input: { publishAt: found } }, 'sentOne.isRescheduled');
    }}>
      <h2>${t('sentOne.reschedule')}</h2>
      ${problem(failure, PATHS)}
      <div class="pair">
        ${text({ name: 'new-at', label: t('time.at'), type: 'datetime-local', value: at, set: (value) => this.set({ at: value }), failure, path: 'input.publishAt', isRequired: true,
          wrong: at && !found ? t('time.skipped') : undefined, hint: found ? t('sentOne.utc', { time: inZone(found, 'UTC') }) : undefined })}
        ${select({ name: 'new-zone', label: t('time.zone'), value: zone, set: (value) => this.set({ zone: value }), options: [...new Set([OWN_ZONE, 'UTC', ...ZONES])].map((one) => [one, one]) })}
      </div>
      <p class="muted">${t('sentOne.past')}</p>
      <p class="actions"><button type="button" @click=${() => this.set({ editing: null })}>${t('cancel')}</button><button class="primary" ?disabled=${this.isBusy}>${t('sentOne.reschedule')}</button></p>
    </form>`;
  }

  /** Runs a mutation, says the text of a key, reloads the notification, and moves the focus to the heading. */
  async change(document, variables, key) {
    const data = await this.act(() => ask(document, variables));
    if (!data) return;
    this.set({ editing: null });
    this.say(() => t(key));
    await this.fill();
    await this.updateComplete;
    this.querySelector('h1')?.focus();
  }

  async retract() {
    const { of } = this;
    const isScheduled = of.status === 'SCHEDULED';
    const { deliveredCount: n } = of.stats;
    const text = isScheduled ? t('sentOne.cancelText', { time: long(of.publishAt) }) : t(n > 0 ? 'sentOne.retractTextMany' : 'sentOne.retractText', { n });
    const [title, action] = isScheduled ? [t('sentOne.cancelTitle'), t('sentOne.cancel')] : [t('sentOne.retractTitle'), t('sentOne.retract')];
    const isSure = await confirm({ title, text, action, isDanger: true, keep: t('sentOne.keep') });
    if (isSure) await this.change(Retract, { id: of.id }, isScheduled ? 'sentOne.isCancelled' : 'sentOne.isRetracted');
  }
}
customElements.define('desk-notification', Notification);

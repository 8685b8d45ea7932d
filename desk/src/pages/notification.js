// One notification: its content, its audience, and actions that can still change it.

import { html, nothing } from 'lit';

import { ask } from '../api.js';
import { Amend, Retract, SentOne } from '../documents.js';
import { paramsOf } from '../draft.js';
import { confirm } from '../parts/dialog.js';
import { area, select, text } from '../parts/form.js';
import { Page } from '../parts/part.js';
import '../parts/picker.js';
import { actor, badge, count, deed, item, overTime, person, problem, reach, state, when, word } from '../parts/show.js';
import { go, to } from '../route.js';
import { OWN_ZONE, ZONES, inZone, instant, long, wall } from '../time.js';
import '../why.js';
import { audience } from './sent.js';

/** The refresh interval while the page is visible, in milliseconds. */
const AGAIN_MS = 15_000;

const PATHS = ['input.title', 'input.body', 'input.link', 'input.params', 'input.publishAt', 'input.expiresAt'];

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
      <div class="head"><div><p class="crumb"><a href=${to('sent')}>Sent</a></p><h1 tabindex="-1"><bdi>${of?.shown.title ?? 'Notification'}</bdi></h1></div>
        <div class="actions">${of ? this.acts(of) : nothing}</div></div>
      ${of ? this.whole(of)
        : state({ isLoading: isLoading && !isGone, loadFailure, isEmpty: true, empty: 'There is no notification under this address, or not any more.' })}`;
  }

  whole(of) {
    return html`
      ${this.editing ? nothing : problem(this.failure)}
      <div class="columns">
        <div>
          <section class="card"><h2>As they see it</h2>${item({ ...of.shown, type: of.type.title })}</section>
          ${this.editing === 'text' ? this.amending(of) : nothing}
          ${this.editing === 'time' ? this.rescheduling() : nothing}
          ${this.why()}
        </div>
        <div>
          <section class="card"><h2>How far it came</h2>
            ${of.status === 'SCHEDULED' ? html`<p class="muted">It waits for ${when(of.publishAt)}.</p>` : html`${reach(of.stats)}${overTime(of)}`}
            ${this.deliveries(of)}</section>
          <section class="card"><h2>About it</h2>${this.facts(of)}</section>
          ${of.history.length > 0 ? html`<section class="card"><h2>What was done to it</h2>
            <ul class="list">${of.history.map((act) => html`<li><span>${deed(act.action)}, by ${actor(act.actor)}</span> ${when(act.at)}</li>`)}</ul></section>` : nothing}
        </div>
      </div>`;
  }

  acts(of) {
    const isOpen = of.status === 'PUBLISHED' || of.status === 'SCHEDULED';
    if (!isOpen) return nothing;
    const isScheduled = of.status === 'SCHEDULED';
    return html`
      <button type="button" ?disabled=${this.isBusy} @click=${() => this.edit('text')}>Amend</button>
      ${isScheduled ? html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.edit('time')}>Reschedule</button>` : nothing}
      <button type="button" class="danger" ?disabled=${this.isBusy} @click=${() => this.retract()}>${isScheduled ? 'Cancel it …' : 'Retract …'}</button>`;
  }

  facts(of) {
    const row = (name, value) => (!value ? nothing : html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
    return html`<dl class="facts column">
      ${row('Status', badge(of.status))}
      ${row('Type', of.type.title)}
      ${row('Kind', word(of.kind))}
      ${row('For', html`<bdi>${audience(of)}</bdi>`)}
      ${row('Sender', of.sender && person(of.sender))}
      ${row('Target', of.target && html`<bdi>${of.target.type} ${of.target.externalId}</bdi>`)}
      ${row('Action', of.action)}
      ${row('Rule', of.rule)}
      ${row('Sent by', of.sentBy && actor(of.sentBy))}
      ${row('Sent', when(of.createdAt))}
      ${row('Published', of.publishedAt && when(of.publishedAt))}
      ${row('Scheduled for', of.status === 'SCHEDULED' && when(of.publishAt))}
      ${row('Amended', of.updatedAt && when(of.updatedAt))}
      ${row('Expires', of.expiresAt && when(of.expiresAt))}
      ${row('Retracted', of.retractedAt && when(of.retractedAt))}
      ${row('Id', html`<span class="code wrap">${of.id}</span>`)}
    </dl>`;
  }

  deliveries({ id, deliveries }) {
    if (deliveries.length === 0) return nothing;
    return html`<h3>By other channels</h3><ul class="list">${deliveries.map(({ channel, pending, delivered, dead }) => html`<li>
      <a href=${to('deliveries', [], { notification: id, channel })}>${word(channel)}</a>
      <span>${count(delivered)} delivered, ${count(pending)} waiting, ${count(dead)} given up</span></li>`)}</ul>`;
  }

  why() {
    const user = this.query.get('user') ?? '';
    return html`<section class="card"><h2>Why did they (not) get this?</h2>
      <tidings-picker name="whom" label="User" takes @tidings-picked=${({ detail }) => go(to('sent', this.rest, { user: detail.id }), { replaces: true })}></tidings-picker>
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
    const fields = of.type.template ? [['params', area, 'Params, as JSON']] : [['title', text, 'Title'], ['body', area, 'Body'], ['link', text, 'Link']];
    const rest = of.type.template ? ['title', 'body', 'link'].filter((name) => !of.type.template[name]) : [];
    return html`<form class="card editing" @submit=${(event) => {
      event.preventDefault();
      this.amend(of);
    }}>
      <h2>Amend</h2>
      <p class="muted">All users who have it see the new text when they next load it.</p>
      ${problem(failure, PATHS)}
      ${[...fields, ...rest.map((name) => [name, name === 'body' ? area : text, word(name.toUpperCase())])].map(([name, control, label]) =>
        control({ name: `amend-${name}`, label, value: said[name], set: change(name), failure, path: `input.${name}`, isCode: name === 'params', wrong: name === 'params' ? this.jsonFlaw : undefined,
          hint: name === 'params' ? `The type’s template writes the text of ${paramsOf(of.type.template).join(', ') || 'these'}.` : undefined }))}
      <p class="actions"><button type="button" @click=${() => this.set({ editing: null })}>Cancel</button><button class="primary" ?disabled=${this.isBusy}>Save</button></p>
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
      this.set({ jsonFlaw: `This is no JSON: ${error.message}` });
      return;
    }
    if (Object.keys(input).length === 0) {
      this.set({ editing: null });
      return;
    }
    await this.change(Amend, { id: of.id, input }, 'It is amended.');
  }

  rescheduling() {
    const { at, zone, failure } = this;
    const found = instant(at, zone);
    return html`<form class="card editing" @submit=${(event) => {
      event.preventDefault();
      if (found) this.change(Amend, { id: this.of.id, input: { publishAt: found } }, 'It is rescheduled.');
    }}>
      <h2>Reschedule</h2>
      ${problem(failure, PATHS)}
      <div class="pair">
        ${text({ name: 'new-at', label: 'Date and time', type: 'datetime-local', value: at, set: (value) => this.set({ at: value }), failure, path: 'input.publishAt', isRequired: true,
          wrong: at && !found ? 'The clocks there never show this time.' : undefined, hint: found ? `That is ${inZone(found, 'UTC')} UTC.` : undefined })}
        ${select({ name: 'new-zone', label: 'Time zone', value: zone, set: (value) => this.set({ zone: value }), options: [...new Set([OWN_ZONE, 'UTC', ...ZONES])].map((one) => [one, one]) })}
      </div>
      <p class="muted">What is past means at once.</p>
      <p class="actions"><button type="button" @click=${() => this.set({ editing: null })}>Cancel</button><button class="primary" ?disabled=${this.isBusy}>Reschedule</button></p>
    </form>`;
  }

  /** Runs a mutation, reloads the notification, and moves the focus to the heading. */
  async change(document, variables, says) {
    const data = await this.act(() => ask(document, variables));
    if (!data) return;
    this.set({ editing: null });
    this.say(says);
    await this.fill();
    await this.updateComplete;
    this.querySelector('h1')?.focus();
  }

  async retract() {
    const { of } = this;
    const isScheduled = of.status === 'SCHEDULED';
    const text = isScheduled ? html`<p>It was to be published on ${long(of.publishAt)}, and is not then.</p>`
      : html`<p>It disappears from the inbox of every user who has it${of.stats.deliveredCount > 0 ? `: ${count(of.stats.deliveredCount)} have` : ''}. This cannot be undone.</p>`;
    const isSure = await confirm({ title: isScheduled ? 'Cancel it?' : 'Retract it?', text, action: isScheduled ? 'Cancel it' : 'Retract', isDanger: true, keep: 'Keep it' });
    if (isSure) await this.change(Retract, { id: of.id }, isScheduled ? 'It is cancelled.' : 'It is retracted.');
  }
}
customElements.define('desk-notification', Notification);

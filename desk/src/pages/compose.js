// Writes a notification, previews it, shows the size of its audience, and sends it once.

import { html, nothing } from 'lit';

import { Failure, ask, told } from '../api.js';
import { Announce, Groups, Known, Preview, Size, Tell, Types } from '../documents.js';
import { audienceOf, blank, contentOf, draftOf, flaws, forgetDraft, inputOf, keepDraft, paramsOf, publishAt } from '../draft.js';
import { confirm } from '../parts/dialog.js';
import { area, choice, select, text } from '../parts/form.js';
import { idsIn } from '../parts/ids.js';
import { Page } from '../parts/part.js';
import '../parts/picker.js';
import { item, people, problem, state } from '../parts/show.js';
import { to } from '../route.js';
import { list, rich, t } from '../texts.js';
import { OWN_ZONE, ZONES, inZone, span } from '../time.js';
import { fieldName } from '../words.js';

/** How long a draft must stay unchanged before its preview is requested, in milliseconds. */
const REST_MS = 250;

/** The most users of a draft that are checked for existence. */
const LOOKED_AT = 100;

/** Failures of these fields appear at the field, not above the form. */
const PATHS = ['input.type', 'input.content.title', 'input.content.body', 'input.content.link', 'input.content.params', 'input.audience', 'input.receiver', 'input.sender', 'input.publishAt', 'input.expiresAt'];

class Compose extends Page {
  constructor() {
    super();
    Object.assign(this, { types: [], groups: [], isTried: false, size: null });
  }

  connectedCallback() {
    super.connectedCallback();
    this.draft = draftOf(this.caller);
    this.start();
  }

  async start() {
    const [types, groups] = await Promise.all([this.load(Types), ask(Groups).catch(() => ({ userGroups: [] }))]);
    if (!types) return;
    this.set({ types: types.messageTypes, groups: groups.userGroups });
    if (!this.type && this.types.length > 0) this.change({ type: this.types[0].code });
    else this.changed();
  }

  get type() {
    return this.types.find(({ code }) => code === this.draft.type);
  }

  /** Changes the draft and drops the last failure, which may no longer apply. */
  change(changes) {
    this.draft = { ...this.draft, ...changes };
    keepDraft(this.caller, this.draft);
    this.set({ failure: null, sent: null });
    this.changed();
  }

  /** Updates preview and audience size once the draft has not changed for REST_MS. */
  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.preview();
      this.measure();
    }, REST_MS);
  }

  async preview() {
    const { draft, type } = this;
    if (!type) return;
    try {
      const input = { type: draft.type, content: contentOf(draft, type.template), sender: draft.sender.trim() || undefined };
      const { previewNotification } = await ask(Preview, { input });
      if (draft === this.draft) this.set({ shown: previewNotification, previewFailure: null });
    } catch (error) {
      if (draft === this.draft) this.set({ previewFailure: error });
    }
  }

  async measure() {
    const { draft } = this;
    const audience = audienceOf(draft);
    try {
      const { audienceSize: size } = audience ? await ask(Size, { audience }) : { audienceSize: { count: 0, exact: true } };
      const unknown = await this.unknown(draft);
      if (draft === this.draft) this.set({ size, strangers: unknown });
    } catch (error) {
      if (draft === this.draft) this.set({ size: null, previewFailure: error });
    }
  }

  /** The chosen ids that have no user yet: they may be typing errors. */
  async unknown({ audience, users }) {
    if (audience !== 'users' || users.length === 0) return [];
    const ids = users.slice(0, LOOKED_AT);
    const { inboxUsers } = await ask(Known, { ids });
    return ids.filter((_, place) => inboxUsers[place] === null);
  }

  render() {
    const { isLoading, loadFailure, types } = this;
    return html`
      <h1 tabindex="-1">${t('place.compose')}</h1>
      ${this.sent ? this.outcome() : nothing}
      ${state({ isLoading, loadFailure, isEmpty: types.length === 0, empty: t('compose.noTypes') })}
      ${types.length > 0 ? html`<div class="compose">${this.form()}${this.aside()}</div>` : nothing}`;
  }

  /** The result of sending, shown above the next draft. */
  outcome() {
    const { id, isReplayed, isLater, size } = this.sent;
    return html`<section class="card done" aria-label=${t('compose.done')}>
      <p>${isReplayed ? t('compose.replayed') : t(isLater ? 'compose.scheduledFor' : 'compose.sentTo', { audience: size() })}</p>
      <a class="button" href=${to('sent', [id])}>${t('compose.look')}</a>
    </section>`;
  }

  form() {
    const { draft, failure } = this;
    const wrong = this.isTried ? flaws(draft, this.type?.template) : {};
    return html`<form class="card" novalidate @submit=${this.onSubmit}>
      ${problem(failure, PATHS)}
      ${failure && Failure.of(failure).code === 'CONFLICT' ? html`<p><button type="button" @click=${() => this.change({ key: blank().key })}>${t('compose.anew')}</button></p>` : nothing}
      ${select({ name: 'type', label: t('type'), value: draft.type, set: (type) => this.change({ type }), options: this.types.map(({ code, title }) => [code, title]),
        failure, path: 'input.type', wrong: wrong.type })}
      ${this.audience(wrong)}
      ${this.content(wrong)}
      ${this.time(wrong)}
      ${this.rest(wrong)}
      <div role="status">${this.isFlawed ? html`<p class="problem" id="flawed">${this.flawed()}</p>` : nothing}</div>
      <p class="actions">
        <button type="button" class="quiet" @click=${() => this.clear()}>${t('compose.clear')}</button>
        <button class="primary" ?disabled=${this.isBusy || this.isFlawed} aria-describedby=${this.isFlawed ? 'flawed' : nothing}>${this.isBusy ? t('compose.sending') : t('asks', { action: draft.when === 'later' ? t('compose.schedule') : t('compose.send') })}</button>
      </p>
    </form>`;
  }

  /** Whether the preview shows flaws. If so, every reader would get a broken item. */
  get isFlawed() {
    return this.shown?.flaws.length > 0;
  }

  /** Says which texts have flaws and prevent sending. */
  flawed() {
    const fields = list(this.shown.flaws.map(({ field }) => fieldName(field)));
    const template = this.isAdmin ? html`<a href=${to('catalogue', ['types', this.draft.type])}>${t('compose.template')}</a>` : t('compose.template');
    return rich('compose.flawed', { fields, template });
  }

  audience(wrong) {
    const { draft, groups } = this;
    const options = [['everyone', t('everyone')], ['groups', t('groups')], ['users', t('compose.named')]];
    return html`
      ${choice({ name: 'audience', label: t('compose.audience'), value: draft.audience, options, set: (audience) => this.change({ audience }) })}
      ${draft.audience === 'groups' ? html`<fieldset class="boxes" aria-describedby="groups-wrong">
        <legend>${t('groups')}</legend>
        ${groups.map(({ code, title, memberCount }) => html`<label><input type="checkbox" .checked=${draft.groups.includes(code)}
          @change=${({ target }) => this.change({ groups: target.checked ? [...draft.groups, code] : draft.groups.filter((one) => one !== code) })}>
          <bdi>${title || code}</bdi> <span class="muted">${memberCount}</span></label>`)}
        ${groups.length === 0 ? html`<p class="muted">${t('compose.noGroups')}</p>` : nothing}
        <p class="wrong" id="groups-wrong">${wrong.groups ?? ''}</p>
      </fieldset>` : nothing}
      ${draft.audience === 'users' ? this.named(wrong) : nothing}`;
  }

  named(wrong) {
    const { users } = this.draft;
    const add = (ids) => this.change({ users: [...new Set([...users, ...ids])] });
    const shown = users.slice(0, 50);
    return html`<fieldset>
      <legend>${t('compose.people')}</legend>
      <tidings-picker name="person" label=${t('compose.search')} takes @tidings-picked=${({ detail }) => add([detail.id])}></tidings-picker>
      <details>
        <summary>${t('compose.paste')}</summary>
        ${area({ name: 'pasted', label: t('compose.ids'), value: this.pasted ?? '', isCode: true, set: (pasted) => this.set({ pasted }) })}
        <p class="actions start"><button type="button" @click=${() => this.take(add)}>${t('compose.add')}</button>
          <label class="button">${t('compose.file')}<input class="vh" type="file" accept=".csv,.tsv,.txt,text/*" @change=${(event) => this.read(event.target)}></label></p>
      </details>
      <ul class="chips" aria-label=${t('compose.chosen')}>${shown.map((id) => html`<li><bdi>${id}</bdi><button type="button" class="quiet" aria-label=${t('compose.remove', { id })}
        @click=${() => this.change({ users: users.filter((one) => one !== id) })}>×</button></li>`)}
        ${users.length > shown.length ? html`<li class="muted">${t('compose.others', { n: users.length - shown.length })}</li>` : nothing}</ul>
      ${users.length > 1 ? html`<p><button type="button" class="quiet" @click=${() => this.change({ users: [] })}>${t('compose.removeAll', { n: users.length })}</button></p>` : nothing}
      ${wrong.users ? html`<p class="wrong" role="alert">${wrong.users}</p>` : nothing}
    </fieldset>`;
  }

  take(add) {
    const ids = idsIn(this.pasted ?? '');
    if (ids.length === 0) return;
    add(ids);
    this.set({ pasted: '' });
    this.say(() => t('added', { n: ids.length }));
  }

  async read(input) {
    const [file] = input.files;
    if (file) this.set({ pasted: await file.text() });
    input.value = '';
  }

  content(wrong) {
    const { draft, type, failure } = this;
    const template = type?.template;
    const own = (name, label, of, control) => template?.[name] ? nothing
      : control({ name, label, value: draft[name], set: (value) => this.change({ [name]: value }), failure, path: `input.content.${name}`, wrong: wrong[name], ...of });
    return html`
      ${paramsOf(template).map((name) => text({
        name: `param-${name}`, label: name, value: draft.params[name] ?? '', set: (value) => this.change({ params: { ...draft.params, [name]: value } }),
      }))}
      ${own('title', t('title'), { most: 256 }, text)}
      ${own('body', t('body'), {}, area)}
      ${own('link', t('link'), { placeholder: t('compose.linkExample'), isCode: true }, text)}`;
  }

  time(wrong) {
    const { draft } = this;
    const at = publishAt(draft);
    const says = at ? t('compose.utc', { time: inZone(at, 'UTC'), span: span((Date.parse(at) - Date.now()) / 1000) }) : undefined;
    return html`
      ${choice({ name: 'when', label: t('when'), value: draft.when, options: [['now', t('compose.now')], ['later', t('compose.later')]], set: (when) => this.change({ when }) })}
      ${draft.when === 'later' ? html`<div class="pair">
        ${text({ name: 'at', label: t('time.at'), type: 'datetime-local', value: draft.at, set: (value) => this.change({ at: value }), wrong: wrong.at, failure: this.failure, path: 'input.publishAt', hint: says })}
        ${select({ name: 'zone', label: t('time.zone'), value: draft.zone, set: (zone) => this.change({ zone }), options: [...new Set([OWN_ZONE, 'UTC', draft.zone, ...ZONES])].map((zone) => [zone, zone]) })}
      </div>` : nothing}`;
  }

  /** Rarely needed fields; open if one of them is filled in or wrong. */
  rest(wrong) {
    const { draft, failure } = this;
    const isOpen = Boolean(draft.sender || draft.expires || draft.extra);
    return html`<details ?open=${isOpen}><summary>${t('compose.more')}</summary>
      ${text({ name: 'sender', label: t('sender'), value: draft.sender, isCode: true, set: (sender) => this.change({ sender }), failure, path: 'input.sender', hint: t('compose.senderHint') })}
      ${text({ name: 'expires', label: t('expires'), type: 'datetime-local', value: draft.expires, set: (expires) => this.change({ expires }), wrong: wrong.expires, failure, path: 'input.expiresAt',
        hint: t('compose.expiresHint', { zone: draft.zone }) })}
      ${area({ name: 'extra', label: t('compose.extra'), value: draft.extra, isCode: true, set: (extra) => this.change({ extra }), wrong: wrong.extra, failure, path: 'input.content.params' })}
    </details>`;
  }

  aside() {
    const { shown, type, previewFailure } = this;
    return html`<aside class="card" aria-label=${t('preview')}>
      <h2>${t('asSeen')}</h2>
      ${previewFailure ? html`<p class="problem">${told(previewFailure)}</p>` : nothing}
      ${shown && type ? item({ ...shown, title: shown.title || t('compose.noTitle'), type: type.title }) : nothing}
      ${(shown?.flaws ?? []).map(({ field, message }) => html`<p class="problem">${t('compose.flaw', { field: fieldName(field), detail: message })}</p>`)}
      <h2>${t('compose.who')}</h2>
      <p class="size" role="status">${this.reaches()}</p>
      ${this.strangers?.length > 0 ? html`<p class="note">${rich('compose.strangers', { users: html`<bdi>${this.strangers.join(', ')}</bdi>` })}</p>` : nothing}
    </aside>`;
  }

  /** The audience and its size, as far as known. */
  reaches({ draft, size } = this) {
    const number = size === null ? t('compose.unknownSize') : size.exact ? people(size.count) : t('compose.orMore', { n: size.count });
    return draft.audience === 'everyone' ? t('compose.everyone', { number }) : number;
  }

  async clear() {
    if (!(await confirm({ title: t('compose.clearTitle'), text: t('compose.clearText'), action: t('compose.clear'), isDanger: true }))) return;
    forgetDraft(this.caller);
    this.isTried = false;
    this.change({ ...blank(), type: this.types[0]?.code ?? '' });
  }

  onSubmit = async (event) => {
    event.preventDefault();
    // Ignores a second click while the first one still counts the audience.
    if (this.isAsking || this.isBusy) return;
    this.isAsking = true;
    try {
      await this.submit();
    } finally {
      this.isAsking = false;
    }
  };

  async submit() {
    this.set({ isTried: true });
    if (Object.keys(flaws(this.draft, this.type?.template)).length > 0) {
      await this.updateComplete;
      this.querySelector('[aria-invalid=true]')?.focus();
      return;
    }
    // Refresh both, so that the question shows the current draft.
    clearTimeout(this.timer);
    await Promise.all([this.preview(), this.measure()]);
    if (this.isFlawed) return;
    const { draft, size } = this;
    const at = publishAt(draft);
    const isSure = await confirm({
      title: at ? t('compose.scheduleTitle') : t('compose.sendTitle'),
      text: html`<p><b><bdi>${this.shown?.title ?? draft.title}</bdi></b></p><p>${rich('compose.to', { audience: html`<b class="audience">${this.reaches()}</b>` })}</p>
        <p>${at ? t('compose.on', { time: inZone(at, draft.zone), zone: draft.zone }) : t('compose.atOnce')}</p>`,
      action: at ? t('compose.schedule') : t('compose.send'),
    });
    if (!isSure || draft !== this.draft) return;
    await this.act(() => this.send(draft, size));
    // The server may have refused it because the template changed in the meantime and now has flaws.
    if (this.failure) await this.preview();
  }

  async send(draft, size) {
    const { isMessage, input } = inputOf(draft, this.type?.template);
    const data = await ask(isMessage ? Tell : Announce, { input });
    const { replayed: isReplayed, notification } = data.sendMessage ?? data.sendAnnouncement;
    forgetDraft(this.caller);
    this.draft = { ...blank(), type: draft.type };
    this.set({ isTried: false, sent: { id: notification.id, isReplayed, isLater: notification.status === 'SCHEDULED', size: () => this.reaches({ draft, size }) } });
    this.changed();
    this.say(() => t(isReplayed ? 'compose.wasReplayed' : notification.status === 'SCHEDULED' ? 'compose.scheduled' : 'compose.sent'));
    await this.updateComplete;
    this.querySelector('.done a')?.focus();
  }
}
customElements.define('desk-compose', Compose);

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
import { OWN_ZONE, ZONES, inZone, span } from '../time.js';

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
      if (draft === this.draft) this.set({ previewFailure: told(error) });
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
      if (draft === this.draft) this.set({ size: null, previewFailure: told(error) });
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
      <h1 tabindex="-1">Compose</h1>
      ${this.sent ? this.outcome() : nothing}
      ${state({ isLoading, loadFailure, isEmpty: types.length === 0, empty: 'There are no message types yet: an operator makes them in the catalogue.' })}
      ${types.length > 0 ? html`<div class="compose">${this.form()}${this.aside()}</div>` : nothing}`;
  }

  /** The result of sending, shown above the next draft. */
  outcome() {
    const { id, isReplayed, isLater, size } = this.sent;
    return html`<section class="card done" aria-label="What was sent">
      <p>${isReplayed ? 'This had been sent already, and was not sent again.' : isLater ? html`Scheduled for ${size}.` : html`Sent to ${size}.`}</p>
      <a class="button" href=${to('sent', [id])}>Look at it</a>
    </section>`;
  }

  form() {
    const { draft, failure } = this;
    const wrong = this.isTried ? flaws(draft, this.type?.template) : {};
    return html`<form class="card" novalidate @submit=${this.onSubmit}>
      ${problem(failure, PATHS)}
      ${failure && Failure.of(failure).code === 'CONFLICT' ? html`<p><button type="button" @click=${() => this.change({ key: blank().key })}>Treat it as a new one</button></p>` : nothing}
      ${select({ name: 'type', label: 'Type', value: draft.type, set: (type) => this.change({ type }), options: this.types.map(({ code, title }) => [code, title]),
        failure, path: 'input.type', wrong: wrong.type })}
      ${this.audience(wrong)}
      ${this.content(wrong)}
      ${this.time(wrong)}
      ${this.rest(wrong)}
      <div role="status">${this.isFlawed ? html`<p class="problem" id="flawed">${this.flawed()}</p>` : nothing}</div>
      <p class="actions">
        <button type="button" class="quiet" @click=${() => this.clear()}>Clear</button>
        <button class="primary" ?disabled=${this.isBusy || this.isFlawed} aria-describedby=${this.isFlawed ? 'flawed' : nothing}>${this.isBusy ? 'Sending …' : draft.when === 'later' ? 'Schedule …' : 'Send …'}</button>
      </p>
    </form>`;
  }

  /** Whether the preview shows flaws. If so, every reader would get a broken item. */
  get isFlawed() {
    return this.shown?.flaws.length > 0;
  }

  /** Says which texts have flaws and prevent sending. */
  flawed() {
    const fields = new Intl.ListFormat('en').format(this.shown.flaws.map(({ field }) => field));
    const template = this.isAdmin ? html`<a href=${to('catalogue', ['types', this.draft.type])}>the template</a>` : 'the template';
    return html`This cannot be sent: the type’s template has flaws in its ${fields}, as the preview shows. Change what you have written, or ${template}.`;
  }

  audience(wrong) {
    const { draft, groups } = this;
    const options = [['everyone', 'Everyone'], ['groups', 'Groups'], ['users', 'Named people']];
    return html`
      ${choice({ name: 'audience', label: 'Audience', value: draft.audience, options, set: (audience) => this.change({ audience }) })}
      ${draft.audience === 'groups' ? html`<fieldset class="boxes" aria-describedby="groups-wrong">
        <legend>Groups</legend>
        ${groups.map(({ code, title, memberCount }) => html`<label><input type="checkbox" .checked=${draft.groups.includes(code)}
          @change=${({ target }) => this.change({ groups: target.checked ? [...draft.groups, code] : draft.groups.filter((one) => one !== code) })}>
          <bdi>${title || code}</bdi> <span class="muted">${memberCount}</span></label>`)}
        ${groups.length === 0 ? html`<p class="muted">There are no groups.</p>` : nothing}
        <p class="wrong" id="groups-wrong">${wrong.groups ?? ''}</p>
      </fieldset>` : nothing}
      ${draft.audience === 'users' ? this.named(wrong) : nothing}`;
  }

  named(wrong) {
    const { users } = this.draft;
    const add = (ids) => this.change({ users: [...new Set([...users, ...ids])] });
    const shown = users.slice(0, 50);
    return html`<fieldset>
      <legend>People</legend>
      <tidings-picker name="person" label="Search" takes @tidings-picked=${({ detail }) => add([detail.id])}></tidings-picker>
      <details>
        <summary>Paste a list or a CSV</summary>
        ${area({ name: 'pasted', label: 'Ids, by commas or lines; of a table the column “id”, else the first', value: this.pasted ?? '', isCode: true, set: (pasted) => this.set({ pasted }) })}
        <p class="actions start"><button type="button" @click=${() => this.take(add)}>Add them</button>
          <label class="button">Choose a file<input class="vh" type="file" accept=".csv,.tsv,.txt,text/*" @change=${(event) => this.read(event.target)}></label></p>
      </details>
      <ul class="chips" aria-label="People chosen">${shown.map((id) => html`<li><bdi>${id}</bdi><button type="button" class="quiet" aria-label="Remove ${id}"
        @click=${() => this.change({ users: users.filter((one) => one !== id) })}>×</button></li>`)}
        ${users.length > shown.length ? html`<li class="muted">and ${users.length - shown.length} more</li>` : nothing}</ul>
      ${users.length > 1 ? html`<p><button type="button" class="quiet" @click=${() => this.change({ users: [] })}>Remove all ${users.length}</button></p>` : nothing}
      ${wrong.users ? html`<p class="wrong" role="alert">${wrong.users}</p>` : nothing}
    </fieldset>`;
  }

  take(add) {
    const ids = idsIn(this.pasted ?? '');
    if (ids.length === 0) return;
    add(ids);
    this.set({ pasted: '' });
    this.say(`${people(ids.length)} added.`);
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
      ${own('title', 'Title', { most: 256 }, text)}
      ${own('body', 'Body', {}, area)}
      ${own('link', 'Link', { placeholder: '/orders/7 or https://…', isCode: true }, text)}`;
  }

  time(wrong) {
    const { draft } = this;
    const at = publishAt(draft);
    const says = at ? `That is ${inZone(at, 'UTC')} UTC, in ${span((Date.parse(at) - Date.now()) / 1000)}.` : undefined;
    return html`
      ${choice({ name: 'when', label: 'When', value: draft.when, options: [['now', 'Now'], ['later', 'Later']], set: (when) => this.change({ when }) })}
      ${draft.when === 'later' ? html`<div class="pair">
        ${text({ name: 'at', label: 'Date and time', type: 'datetime-local', value: draft.at, set: (value) => this.change({ at: value }), wrong: wrong.at, failure: this.failure, path: 'input.publishAt', hint: says })}
        ${select({ name: 'zone', label: 'Time zone', value: draft.zone, set: (zone) => this.change({ zone }), options: [...new Set([OWN_ZONE, 'UTC', draft.zone, ...ZONES])].map((zone) => [zone, zone]) })}
      </div>` : nothing}`;
  }

  /** Rarely needed fields; open if one of them is filled in or wrong. */
  rest(wrong) {
    const { draft, failure } = this;
    const isOpen = Boolean(draft.sender || draft.expires || draft.extra);
    return html`<details ?open=${isOpen}><summary>More</summary>
      ${text({ name: 'sender', label: 'Sender', value: draft.sender, isCode: true, set: (sender) => this.change({ sender }), failure, path: 'input.sender', hint: 'Id of the user who did it. Empty: no user.' })}
      ${text({ name: 'expires', label: 'Expires', type: 'datetime-local', value: draft.expires, set: (expires) => this.change({ expires }), wrong: wrong.expires, failure, path: 'input.expiresAt',
        hint: `In the time zone ${draft.zone}. Empty: as its type says.` })}
      ${area({ name: 'extra', label: 'Further params, as JSON', value: draft.extra, isCode: true, set: (extra) => this.change({ extra }), wrong: wrong.extra, failure, path: 'input.content.params' })}
    </details>`;
  }

  aside() {
    const { shown, type, previewFailure } = this;
    return html`<aside class="card" aria-label="Preview">
      <h2>As they see it</h2>
      ${previewFailure ? html`<p class="problem">${previewFailure}</p>` : nothing}
      ${shown && type ? item({ ...shown, title: shown.title || 'No title yet', type: type.title }) : nothing}
      ${(shown?.flaws ?? []).map(({ field, message }) => html`<p class="problem">The type’s template has a flaw in its ${field}: ${message}.</p>`)}
      <h2>Who receives it</h2>
      <p class="size" role="status">${this.reaches()}</p>
      ${this.strangers?.length > 0 ? html`<p class="note">Not known yet: <bdi>${this.strangers.join(', ')}</bdi>. They are created when it is sent. Check the spelling.</p>` : nothing}
    </aside>`;
  }

  /** The audience and its size, as far as known. */
  reaches() {
    const { draft, size } = this;
    const number = size === null ? 'an unknown number' : `${people(size.count)}${size.exact ? '' : ' or more'}`;
    return draft.audience === 'everyone' ? `Everyone: ${number}` : number;
  }

  async clear() {
    if (!(await confirm({ title: 'Clear the draft?', text: 'What you have written is gone then.', action: 'Clear', isDanger: true }))) return;
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
    const [draft, size] = [this.draft, this.reaches()];
    const at = publishAt(draft);
    const isSure = await confirm({
      title: at ? 'Schedule it?' : 'Send it?',
      text: html`<p><b><bdi>${this.shown?.title ?? draft.title}</bdi></b></p><p>To: <b class="audience">${size}</b></p>
        <p>${at ? `On ${inZone(at, draft.zone)} (${draft.zone}).` : 'Now. It can be taken back, but those who look at once have seen it.'}</p>`,
      action: at ? 'Schedule' : 'Send',
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
    this.set({ isTried: false, sent: { id: notification.id, isReplayed, isLater: notification.status === 'SCHEDULED', size } });
    this.changed();
    this.say(isReplayed ? 'This had been sent already.' : notification.status === 'SCHEDULED' ? 'Scheduled.' : 'Sent.');
    await this.updateComplete;
    this.querySelector('.done a')?.focus();
  }
}
customElements.define('desk-compose', Compose);

// One user: their inbox as they see it, their preferences, and why they did or did not get a notification.

import { html, nothing } from 'lit';

import { ask } from '../api.js';
import { AddMembers, Erase, Export, Groups, Mark, RemoveMembers, SavePreferences, SentList, Unsubscribe, UserHead, UserInbox, UserListens, UserPreferences, UserViews } from '../documents.js';
import { confirm } from '../parts/dialog.js';
import { check, select, text } from '../parts/form.js';
import { Page, showCurrent } from '../parts/part.js';
import { count, item, more, person, problem, state, when, word } from '../parts/show.js';
import { go, to } from '../route.js';
import { short } from '../time.js';
import '../why.js';
import { remember } from './users.js';

const TABS = [
  ['inbox', 'Inbox'], ['listens', 'Groups and subscriptions'], ['preferences', 'Preferences'], ['views', 'Views'], ['why', 'Why?'], ['data', 'Data'],
];

const titled = (tab) => tab.charAt(0).toUpperCase() + tab.slice(1);

const STATES = [['INBOX', 'Inbox'], ['ARCHIVED', 'Archive'], ['ALL', 'Both']];

class User extends Page {
  constructor() {
    super();
    Object.assign(this, { nodes: [], sent: [], groups: [], of: {} });
  }

  get who() {
    return this.rest[0];
  }

  get tab() {
    const tab = this.query.get('tab') ?? 'inbox';
    return TABS.some(([name]) => name === tab) ? tab : 'inbox';
  }

  willUpdate(changed) {
    if (!changed.has('rest') && !changed.has('query')) return;
    const wanted = JSON.stringify([this.who, this.query.toString()]);
    if (wanted === this.wanted) return;
    if (this.of.user?.id !== this.who) Object.assign(this, { of: {}, nodes: [] });
    this.wanted = wanted;
    this.failure = null;
    this.fill();
  }

  /** Scrolls the chosen tab into view if a phone cannot show all of them. */
  updated() {
    if (this.shownTab === this.tab || !this.of.user) return;
    this.shownTab = this.tab;
    showCurrent(this.querySelector('.tabs'));
  }

  async fill() {
    const head = await this.load(UserHead, { id: this.who });
    if (!head) return;
    if (!head.inboxUser) return this.set({ of: {}, isUnknown: true });
    this.set({ of: head.inboxUser, isUnknown: false });
    remember(this.caller, head.inboxUser.user);
    return this[`fill${titled(this.tab)}`]?.();
  }

  async fillInbox(after) {
    const filter = { state: this.query.get('state') || 'INBOX', types: this.query.get('type') ? [this.query.get('type')] : undefined };
    const data = await this.load(UserInbox, { id: this.who, filter, after });
    if (!data) return;
    const { nodes, pageInfo } = data.inboxUser.inbox;
    this.set({ nodes: after ? [...this.nodes, ...nodes] : nodes, pageInfo });
  }

  async fillListens() {
    const [data, groups] = await Promise.all([this.load(UserListens, { id: this.who }), ask(Groups).catch(() => ({ userGroups: [] }))]);
    if (data) this.set({ listens: data.inboxUser, groups: groups.userGroups });
  }

  async fillPreferences() {
    const data = await this.load(UserPreferences, { id: this.who });
    if (data) this.set({ preferences: data.inboxUser.preferences });
  }

  async fillViews() {
    const data = await this.load(UserViews, { id: this.who });
    if (data) this.set({ views: data.inboxUser.views });
  }

  async fillWhy() {
    const data = await this.load(SentList, {});
    if (data) this.set({ sent: data.sentNotifications.nodes });
  }

  render() {
    const { of, who, isUnknown, isLoading, loadFailure } = this;
    // Keep the heading the same element, because it may have the focus.
    return html`
      <div class="head"><div><p class="crumb"><a href=${to('users')}>Users</a></p><h1 tabindex="-1"><bdi>${of.user?.name || who}</bdi></h1></div></div>
      ${of.user && !isUnknown ? this.whole() : state({
        isLoading: isLoading && !isUnknown, loadFailure, isEmpty: true,
        empty: 'No user has this id. A user is created when something is sent to them, or when their application opens their inbox.',
      })}`;
  }

  whole() {
    return html`
      ${this.facts(this.of)}
      <nav class="tabs" aria-label="What there is of them"><ul>${TABS.map(([name, title]) => html`<li><a
        href=${to('users', [this.who], { tab: name === 'inbox' ? '' : name })} aria-current=${name === this.tab ? 'page' : nothing}>${title}</a></li>`)}</ul></nav>
      ${problem(this.failure)}
      ${this.loadFailure ? html`<p class="problem" role="alert">${this.loadFailure}</p>` : this[`show${titled(this.tab)}`]()}`;
  }

  facts({ user, overview, timeZone, quiet, digest, contacts }) {
    const row = (name, value) => (value === null || value === undefined || value === '' ? nothing : html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`);
    return html`<dl class="facts">
      ${row('Id', html`<span class="code">${user.id}</span>`)}
      ${row('Unread', count(overview.unread.count))}
      ${row('Unseen', count(overview.unseen.count))}
      ${row('Language', user.locale)}
      ${row('Time zone', timeZone)}
      ${row('Quiet', quiet && `${quiet.from} to ${quiet.to}`)}
      ${row('Digest', digest && `${digest.at}${digest.weekday ? `, ${word(digest.weekday)}` : ''}`)}
      ${contacts.map(({ channel, address, refusedSince }) => row(word(channel), html`${address}${refusedSince ? html` <span class="badge bad">refused since ${short(refusedSince)}</span>` : nothing}`))}
    </dl>`;
  }

  showInbox() {
    const { nodes, pageInfo, isLoading, of } = this;
    const narrow = (changes) => go(to('users', [this.who], { ...Object.fromEntries(this.query), ...changes }), { replaces: true });
    const counted = of.overview.types.filter(({ unread }) => unread.count > 0);
    return html`
      ${counted.length > 0 ? html`<ul class="chips" aria-label="Unread by type">${counted.map(({ type, unread, latest }) => html`<li><a
        href=${to('users', [this.who], { type: type.code })} title=${latest ? `Latest: ${latest.title}` : ''}><bdi>${type.title}</bdi> <b>${count(unread.count)}</b></a></li>`)}</ul>` : nothing}
      <form class="filters" aria-label="Which items" @submit=${(event) => event.preventDefault()}>
        ${select({ name: 'state', label: 'Which part', value: this.query.get('state') ?? 'INBOX', options: STATES, set: (value) => narrow({ state: value }) })}
        ${select({ name: 'of-type', label: 'Type', value: this.query.get('type') ?? '', set: (type) => narrow({ type }),
          options: [['', 'All'], ...of.overview.types.map(({ type, unread }) => [type.code, `${type.title}${unread.count ? ` (${unread.count} unread)` : ''}`])] })}
        ${this.isAdmin ? nothing : check({ name: 'changes', label: 'Change it for them', value: this.canChange, set: (canChange) => this.set({ canChange }), hint: 'Shows what marks, archives and deletes.' })}
      </form>
      ${state({ isLoading, isEmpty: nodes.length === 0, empty: 'There is nothing here.' })}
      <ul class="items">${nodes.map((one) => this.entry(one))}</ul>
      ${more(pageInfo, () => this.fillInbox(pageInfo.endCursor), isLoading)}`;
  }

  entry(one) {
    const mark = (what, label, isDanger) => html`<button type="button" class=${isDanger ? 'danger quiet' : 'quiet'} aria-label="${label}: ${one.title}" ?disabled=${this.isBusy}
      @click=${() => this.mark(what, one, isDanger)}>${label}</button>`;
    return html`<li class=${one.isRead ? '' : 'unread'}>
      ${item({ ...one, type: one.type.title })}
      <p class="item-facts">${when(one.createdAt)}${one.sender ? html` · from ${person(one.sender)}` : nothing} ·
        ${one.isRead ? html`read ${one.readAt ? when(one.readAt) : ''}` : html`<b>unread</b>`}${one.isArchived ? html` · archived ${when(one.archivedAt, '')}` : nothing}
        · <a href=${to('sent', [one.notificationId])}>as it was sent</a></p>
      ${this.canChange ? html`<p class="item-acts">
        ${one.isRead ? mark('markUnread', 'Mark as unread') : mark('markRead', 'Mark as read')}
        ${one.isArchived ? mark('unarchiveItems', 'Move to inbox') : mark('archiveItems', 'Archive')}
        ${mark('deleteItems', 'Delete', true)}</p>` : nothing}
    </li>`;
  }

  async mark(what, one, isDanger) {
    const text = html`<p><bdi>${one.title}</bdi></p><p>It is gone from their inbox for good.</p>`;
    if (isDanger && !(await confirm({ title: 'Delete it from their inbox?', text, action: 'Delete', isDanger }))) return;
    await this.act(async () => {
      await ask(Mark(what), { user: this.who, id: one.id });
      await this.fill();
      this.say('Done, and they see it at once.');
    });
  }

  showListens() {
    const { listens, groups, isLoading } = this;
    if (!listens) return state({ isLoading, isEmpty: true, empty: '' });
    const { subscriptions, following } = listens;
    const others = groups.filter(({ code }) => !listens.groups.some((group) => group.code === code));
    return html`
      <section class="card"><h2>Groups</h2>
        <ul class="list">${listens.groups.map(({ code, title }) => html`<li><span><bdi>${title || code}</bdi> <small class="code"><bdi>${code}</bdi></small></span>
          <button type="button" class="quiet" aria-label="Take out of ${title || code}" @click=${() => this.member(RemoveMembers, code)}>Take out</button></li>`)}</ul>
        ${listens.groups.length === 0 ? html`<p class="muted">They are in none.</p>` : nothing}
        ${others.length > 0 ? html`<form class="inline" @submit=${(event) => {
          event.preventDefault();
          this.member(AddMembers, this.querySelector('#join').value);
        }}>
          <div class="field"><label for="join">Add to</label><select id="join">${others.map(({ code, title }) => html`<option value=${code}>${title || code}</option>`)}</select></div>
          <button>Add</button></form>` : nothing}
      </section>
      <section class="card"><h2>Subscriptions</h2>
        ${subscriptions.nodes.length === 0 ? html`<p class="muted">They have none of their own.</p>` : html`<table class="cards">
          <caption class="vh">What they subscribe to</caption>
          <thead><tr><th>Target</th><th>Action</th><th>Since</th><th><span class="vh">Acts</span></th></tr></thead>
          <tbody>${subscriptions.nodes.map((one) => html`<tr>
            <th scope="row"><bdi>${one.target.type} ${one.target.externalId}</bdi></th><td data-label="Action"><bdi>${one.action}</bdi></td><td data-label="Since" class="named">${when(one.createdAt)}</td>
            <td class="acts"><button type="button" class="quiet" aria-label="End ${one.action} of ${one.target.type} ${one.target.externalId}" @click=${() => this.unsubscribe(one)}>End</button></td></tr>`)}</tbody></table>
          ${subscriptions.pageInfo.hasNextPage ? html`<p class="muted">The first 50 are shown.</p>` : nothing}`}
      </section>
      <section class="card"><h2>Follows</h2>
        ${following.nodes.length === 0 ? html`<p class="muted">They follow no one.</p>` : html`<ul class="list">${following.nodes.map((user) => html`<li>${person(user)}</li>`)}</ul>`}
      </section>`;
  }

  member(document, code) {
    return this.act(async () => {
      await ask(document, { code, users: [this.who] });
      await this.fillListens();
      this.say('The group is changed.');
    });
  }

  async unsubscribe({ target, action }) {
    const text = `They do not hear of “${action}” at ${target.type} ${target.externalId} any more.`;
    if (!(await confirm({ title: 'End this subscription?', text, action: 'End it', isDanger: true }))) return;
    await this.act(async () => {
      await ask(Unsubscribe, { input: { target: { type: target.type, externalId: target.externalId }, what: { actions: [action] }, who: { user: this.who } } });
      await this.fillListens();
      this.say('The subscription has ended.');
    });
  }

  showPreferences() {
    const { preferences, isLoading, of } = this;
    if (!preferences) return state({ isLoading, isEmpty: true, empty: '' });
    const title = (code) => of.overview.types.find(({ type }) => type.code === code)?.type.title ?? code;
    const source = (of) => (of.source === 'USER' ? 'their own' : 'default');
    const list = (heading, name, entries, label, change) => entries.length === 0 ? nothing : html`<section class="card"><h2>${heading}</h2>
      <ul class="list">${entries.map((of, place) => html`<li>
        ${check({ name: `${name}-${place}`, label: html`<bdi>${label(of)}</bdi>`, value: of.enabled, set: (enabled) => this.prefer(change(Object.assign(of, { enabled }), enabled)) })}
        <small class="muted">${source(of)}</small></li>`)}</ul></section>`;
    return html`
      ${list('Types', 'type', preferences.types, ({ code }) => title(code), ({ code }, enabled) => ({ types: [{ code, enabled }] }))}
      ${list('Actions', 'action', preferences.actions, ({ code }) => code, ({ code }, enabled) => ({ actions: [{ code, enabled }] }))}
      ${list('Channels', 'channel', preferences.channels, ({ type, channel }) => `${title(type)} by ${word(channel)}`, ({ type, channel }, enabled) => ({ channels: [{ type, channel, enabled }] }))}
      <p class="muted">A switch counts for what comes from now on.</p>`;
  }

  prefer(changes) {
    return this.act(async () => {
      try {
        await ask(SavePreferences, { user: this.who, ...changes });
        this.say('Their switch is changed.');
      } finally {
        await this.fillPreferences();
      }
    });
  }

  showViews() {
    const { views, isLoading } = this;
    if (!views) return state({ isLoading, isEmpty: true, empty: '' });
    if (views.length === 0) return html`<p class="empty">They are in no views.</p>`;
    return html`<table class="cards"><caption class="vh">Views that they are in</caption>
      <thead><tr><th>View</th><th class="number">Unread</th><th>Last activity</th><th>Last visit</th></tr></thead>
      <tbody>${views.map((view) => html`<tr><th scope="row"><bdi>${view.code} ${view.externalId}</bdi></th><td data-label="Unread" class="number">${view.unread.count}${view.unread.exact ? '' : '+'}</td>
        <td data-label="Last activity" class="named">${when(view.lastActivityAt)}</td><td data-label="Last visit" class="named">${when(view.lastVisitedAt)}</td></tr>`)}</tbody></table>`;
  }

  showWhy() {
    const chosen = this.query.get('notification') ?? '';
    const choose = (notification) => go(to('users', [this.who], { tab: 'why', notification }), { replaces: true });
    return html`<section class="card"><h2>Why did they (not) get this?</h2>
      ${select({ name: 'recent', label: 'Sent lately', value: chosen, set: choose, options: [['', 'Choose …'], ...this.sent.map((of) => [of.id, `${of.shown.title} (${short(of.publishedAt ?? of.createdAt)})`])] })}
      ${text({ name: 'notification', label: 'Or by its id', value: chosen, isCode: true, set: (value) => choose(value.trim()) })}
      <desk-why .notification=${chosen} .user=${this.who}></desk-why></section>`;
  }

  showData() {
    return html`
      <section class="card"><h2>Export</h2>
        <p>All that is stored about them, as JSON, for them to read or take along.</p>
        <p class="actions start"><button type="button" ?disabled=${this.isBusy} @click=${() => this.export()}>Download</button></p></section>
      <section class="card"><h2>Erase</h2>
        <p>Everything about them is deleted: their inbox, groups, subscriptions, preferences and profile. This cannot be undone.</p>
        <p class="actions start"><button type="button" class="danger" ?disabled=${this.isBusy} @click=${() => this.erase()}>Erase them …</button></p></section>`;
  }

  export() {
    return this.act(async () => {
      const pages = [];
      for (let after; after !== null; ) {
        const { exportUser: page } = await ask(Export, { id: this.who, after });
        if (page !== null) pages.push(page);
        after = page?.next ?? null;
      }
      const url = URL.createObjectURL(new Blob([JSON.stringify(pages.length === 1 ? pages[0] : pages, null, 2)], { type: 'application/json' }));
      const link = Object.assign(document.createElement('a'), { href: url, download: `${this.who}.json` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      this.say('The export is downloaded.');
    });
  }

  async erase() {
    const id = this.who;
    const text = 'Everything about this user is deleted. This cannot be undone.';
    if (!(await confirm({ title: `Erase ${id}?`, text, action: 'Erase for good', isDanger: true, typed: id }))) return;
    await this.act(async () => {
      await ask(Erase, { id });
      this.say(`${id} is erased.`);
      go(to('users'));
    });
  }
}
customElements.define('desk-user', User);

// One user: their inbox as they see it, their preferences, and why they did or did not get a notification.

import { html, nothing } from 'lit';

import { ask, told } from '../api.js';
import { AddMembers, Erase, Export, Groups, Mark, RemoveMembers, SavePreferences, SentList, Unsubscribe, UserHead, UserInbox, UserListens, UserPreferences, UserViews } from '../documents.js';
import { confirm } from '../parts/dialog.js';
import { check, select, text } from '../parts/form.js';
import { Page, showCurrent } from '../parts/part.js';
import { count, item, more, person, problem, state, when } from '../parts/show.js';
import { go, to } from '../route.js';
import { rich, t } from '../texts.js';
import { short } from '../time.js';
import '../why.js';
import { word } from '../words.js';
import { remember } from './users.js';

const TABS = ['inbox', 'listens', 'preferences', 'views', 'why', 'data'];

const titled = (tab) => tab.charAt(0).toUpperCase() + tab.slice(1);

const STATES = ['INBOX', 'ARCHIVED', 'ALL'];

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
    return TABS.includes(tab) ? tab : 'inbox';
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
      <div class="head"><div><p class="crumb"><a href=${to('users')}>${t('place.users')}</a></p><h1 tabindex="-1"><bdi>${of.user?.name || who}</bdi></h1></div></div>
      ${of.user && !isUnknown ? this.whole() : state({
        isLoading: isLoading && !isUnknown, loadFailure, isEmpty: true,
        empty: t('user.unknown'),
      })}`;
  }

  whole() {
    return html`
      ${this.facts(this.of)}
      <nav class="tabs" aria-label=${t('user.parts')}><ul>${TABS.map((name) => html`<li><a
        href=${to('users', [this.who], { tab: name === 'inbox' ? '' : name })} aria-current=${name === this.tab ? 'page' : nothing}>${t(`user.tab.${name}`)}</a></li>`)}</ul></nav>
      ${problem(this.failure)}
      ${this.loadFailure ? html`<p class="problem" role="alert">${told(this.loadFailure)}</p>` : this[`show${titled(this.tab)}`]()}`;
  }

  facts({ user, overview, timeZone, quiet, digest, contacts }) {
    const row = (name, value) => (value === null || value === undefined || value === '' ? nothing : html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`);
    return html`<dl class="facts">
      ${row(t('id'), html`<span class="code">${user.id}</span>`)}
      ${row(t('unread'), count(overview.unread.count))}
      ${row(t('user.unseen'), count(overview.unseen.count))}
      ${row(t('user.locale'), user.locale)}
      ${row(t('time.zone'), timeZone)}
      ${row(t('user.quiet'), quiet && t('user.quietHours', { from: quiet.from, to: quiet.to }))}
      ${row(t('user.digest'), digest && (digest.weekday ? t('user.digestOn', { time: digest.at, weekday: word(digest.weekday) }) : digest.at))}
      ${contacts.map(({ channel, address, refusedSince }) => row(word(channel), html`${address}${refusedSince ? html` <span class="badge bad">${t('user.refused', { time: short(refusedSince) })}</span>` : nothing}`))}
    </dl>`;
  }

  showInbox() {
    const { nodes, pageInfo, isLoading, of } = this;
    const narrow = (changes) => go(to('users', [this.who], { ...Object.fromEntries(this.query), ...changes }), { replaces: true });
    const counted = of.overview.types.filter(({ unread }) => unread.count > 0);
    return html`
      ${counted.length > 0 ? html`<ul class="chips" aria-label=${t('user.unreadByType')}>${counted.map(({ type, unread, latest }) => html`<li><a
        href=${to('users', [this.who], { type: type.code })} title=${latest ? t('user.latest', { title: latest.title }) : ''}><bdi>${type.title}</bdi> <b>${count(unread.count)}</b></a></li>`)}</ul>` : nothing}
      <form class="filters" aria-label=${t('user.items')} @submit=${(event) => event.preventDefault()}>
        ${select({ name: 'state', label: t('user.part'), value: this.query.get('state') ?? 'INBOX', options: STATES.map((name) => [name, t(`user.part.${name}`)]), set: (value) => narrow({ state: value }) })}
        ${select({ name: 'of-type', label: t('type'), value: this.query.get('type') ?? '', set: (type) => narrow({ type }),
          options: [['', t('all')], ...of.overview.types.map(({ type, unread }) => [type.code, unread.count ? t('user.typeUnread', { title: type.title, n: unread.count }) : type.title])] })}
        ${this.isAdmin ? nothing : check({ name: 'changes', label: t('user.change'), value: this.canChange, set: (canChange) => this.set({ canChange }), hint: t('user.changeHint') })}
      </form>
      ${state({ isLoading, isEmpty: nodes.length === 0, empty: t('user.empty') })}
      <ul class="items">${nodes.map((one) => this.entry(one))}</ul>
      ${more(pageInfo, () => this.fillInbox(pageInfo.endCursor), isLoading)}`;
  }

  entry(one) {
    const mark = (what, label, isDanger) => html`<button type="button" class=${isDanger ? 'danger quiet' : 'quiet'} aria-label=${t('user.markLabel', { act: label, title: one.title })} ?disabled=${this.isBusy}
      @click=${() => this.mark(what, one, isDanger)}>${label}</button>`;
    return html`<li class=${one.isRead ? '' : 'unread'}>
      ${item({ ...one, type: one.type.title })}
      <p class="item-facts">${when(one.createdAt)}${one.sender ? html` · ${rich('sent.from', { user: person(one.sender) })}` : nothing} ·
        ${one.isRead ? (one.readAt ? rich('user.readAt', { time: when(one.readAt) }) : t('user.read')) : html`<b>${t('user.isUnread')}</b>`}${one.isArchived ? html` · ${rich('user.archived', { time: when(one.archivedAt, '') })}` : nothing}
        · <a href=${to('sent', [one.notificationId])}>${t('user.asSent')}</a></p>
      ${this.canChange ? html`<p class="item-acts">
        ${one.isRead ? mark('markUnread', t('user.markUnread')) : mark('markRead', t('user.markRead'))}
        ${one.isArchived ? mark('unarchiveItems', t('user.unarchive')) : mark('archiveItems', t('user.archive'))}
        ${mark('deleteItems', t('delete'), true)}</p>` : nothing}
    </li>`;
  }

  async mark(what, one, isDanger) {
    const text = html`<p><bdi>${one.title}</bdi></p><p>${t('user.deleteText')}</p>`;
    if (isDanger && !(await confirm({ title: t('user.deleteTitle'), text, action: t('delete'), isDanger }))) return;
    await this.act(async () => {
      await ask(Mark(what), { user: this.who, id: one.id });
      await this.fill();
      this.say(() => t('user.marked'));
    });
  }

  showListens() {
    const { listens, groups, isLoading } = this;
    if (!listens) return state({ isLoading, isEmpty: true, empty: '' });
    const { subscriptions, following } = listens;
    const others = groups.filter(({ code }) => !listens.groups.some((group) => group.code === code));
    return html`
      <section class="card"><h2>${t('groups')}</h2>
        <ul class="list">${listens.groups.map(({ code, title }) => html`<li><span><bdi>${title || code}</bdi> <small class="code"><bdi>${code}</bdi></small></span>
          <button type="button" class="quiet" aria-label=${t('user.leaveLabel', { group: title || code })} @click=${() => this.member(RemoveMembers, code)}>${t('takeOut')}</button></li>`)}</ul>
        ${listens.groups.length === 0 ? html`<p class="muted">${t('user.noGroups')}</p>` : nothing}
        ${others.length > 0 ? html`<form class="inline" @submit=${(event) => {
          event.preventDefault();
          this.member(AddMembers, this.querySelector('#join').value);
        }}>
          <div class="field"><label for="join">${t('user.join')}</label><select id="join">${others.map(({ code, title }) => html`<option value=${code}>${title || code}</option>`)}</select></div>
          <button>${t('add')}</button></form>` : nothing}
      </section>
      <section class="card"><h2>${t('user.subscriptions')}</h2>
        ${subscriptions.nodes.length === 0 ? html`<p class="muted">${t('user.noSubscriptions')}</p>` : html`<table class="cards">
          <caption class="vh">${t('user.subscriptionTable')}</caption>
          <thead><tr><th>${t('target')}</th><th>${t('action')}</th><th>${t('user.since')}</th><th><span class="vh">${t('acts')}</span></th></tr></thead>
          <tbody>${subscriptions.nodes.map((one) => html`<tr>
            <th scope="row"><bdi>${one.target.type} ${one.target.externalId}</bdi></th><td data-label=${t('action')}><bdi>${one.action}</bdi></td><td data-label=${t('user.since')} class="named">${when(one.createdAt)}</td>
            <td class="acts"><button type="button" class="quiet" aria-label=${t('user.endLabel', { action: one.action, target: `${one.target.type} ${one.target.externalId}` })} @click=${() => this.unsubscribe(one)}>${t('user.end')}</button></td></tr>`)}</tbody></table>
          ${subscriptions.pageInfo.hasNextPage ? html`<p class="muted">${t('user.first50')}</p>` : nothing}`}
      </section>
      <section class="card"><h2>${t('follows')}</h2>
        ${following.nodes.length === 0 ? html`<p class="muted">${t('user.noFollows')}</p>` : html`<ul class="list">${following.nodes.map((user) => html`<li>${person(user)}</li>`)}</ul>`}
      </section>`;
  }

  member(document, code) {
    return this.act(async () => {
      await ask(document, { code, users: [this.who] });
      await this.fillListens();
      this.say(() => t('user.groupChanged'));
    });
  }

  async unsubscribe({ target, action }) {
    const text = t('user.endText', { action, target: `${target.type} ${target.externalId}` });
    if (!(await confirm({ title: t('user.endTitle'), text, action: t('user.endIt'), isDanger: true }))) return;
    await this.act(async () => {
      await ask(Unsubscribe, { input: { target: { type: target.type, externalId: target.externalId }, what: { actions: [action] }, who: { user: this.who } } });
      await this.fillListens();
      this.say(() => t('user.ended'));
    });
  }

  showPreferences() {
    const { preferences, isLoading, of } = this;
    if (!preferences) return state({ isLoading, isEmpty: true, empty: '' });
    const title = (code) => of.overview.types.find(({ type }) => type.code === code)?.type.title ?? code;
    const source = (of) => (of.source === 'USER' ? t('user.own') : t('user.default'));
    const list = (heading, name, entries, label, change) => entries.length === 0 ? nothing : html`<section class="card"><h2>${heading}</h2>
      <ul class="list">${entries.map((of, place) => html`<li>
        ${check({ name: `${name}-${place}`, label: html`<bdi>${label(of)}</bdi>`, value: of.enabled, set: (enabled) => this.prefer(change(Object.assign(of, { enabled }), enabled)) })}
        <small class="muted">${source(of)}</small></li>`)}</ul></section>`;
    return html`
      ${list(t('types'), 'type', preferences.types, ({ code }) => title(code), ({ code }, enabled) => ({ types: [{ code, enabled }] }))}
      ${list(t('actions'), 'action', preferences.actions, ({ code }) => code, ({ code }, enabled) => ({ actions: [{ code, enabled }] }))}
      ${list(t('channels'), 'channel', preferences.channels, ({ type, channel }) => t('byChannel', { type: title(type), channel: word(channel) }), ({ type, channel }, enabled) => ({ channels: [{ type, channel, enabled }] }))}
      <p class="muted">${t('user.preferenceHint')}</p>`;
  }

  prefer(changes) {
    return this.act(async () => {
      try {
        await ask(SavePreferences, { user: this.who, ...changes });
        this.say(() => t('user.preferred'));
      } finally {
        await this.fillPreferences();
      }
    });
  }

  showViews() {
    const { views, isLoading } = this;
    if (!views) return state({ isLoading, isEmpty: true, empty: '' });
    if (views.length === 0) return html`<p class="empty">${t('user.noViews')}</p>`;
    return html`<table class="cards"><caption class="vh">${t('user.viewTable')}</caption>
      <thead><tr><th>${t('user.view')}</th><th class="number">${t('unread')}</th><th>${t('user.lastActivity')}</th><th>${t('user.lastVisit')}</th></tr></thead>
      <tbody>${views.map((view) => html`<tr><th scope="row"><bdi>${view.code} ${view.externalId}</bdi></th><td data-label=${t('unread')} class="number">${view.unread.count}${view.unread.exact ? '' : '+'}</td>
        <td data-label=${t('user.lastActivity')} class="named">${when(view.lastActivityAt)}</td><td data-label=${t('user.lastVisit')} class="named">${when(view.lastVisitedAt)}</td></tr>`)}</tbody></table>`;
  }

  showWhy() {
    const chosen = this.query.get('notification') ?? '';
    const choose = (notification) => go(to('users', [this.who], { tab: 'why', notification }), { replaces: true });
    return html`<section class="card"><h2>${t('why.title')}</h2>
      ${select({ name: 'recent', label: t('user.recent'), value: chosen, set: choose, options: [['', t('user.choose')], ...this.sent.map((of) => [of.id, `${of.shown.title} (${short(of.publishedAt ?? of.createdAt)})`])] })}
      ${text({ name: 'notification', label: t('user.byId'), value: chosen, isCode: true, set: (value) => choose(value.trim()) })}
      <desk-why .notification=${chosen} .user=${this.who}></desk-why></section>`;
  }

  showData() {
    return html`
      <section class="card"><h2>${t('user.export')}</h2>
        <p>${t('user.exportText')}</p>
        <p class="actions start"><button type="button" ?disabled=${this.isBusy} @click=${() => this.export()}>${t('user.download')}</button></p></section>
      <section class="card"><h2>${t('user.erase')}</h2>
        <p>${t('user.eraseHint')}</p>
        <p class="actions start"><button type="button" class="danger" ?disabled=${this.isBusy} @click=${() => this.erase()}>${t('asks', { action: t('user.eraseThem') })}</button></p></section>`;
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
      this.say(() => t('user.exported'));
    });
  }

  async erase() {
    const id = this.who;
    const text = t('user.eraseText');
    if (!(await confirm({ title: t('user.eraseTitle', { id }), text, action: t('user.eraseAct'), isDanger: true, typed: id }))) return;
    await this.act(async () => {
      await ask(Erase, { id });
      this.say(() => t('user.erased', { id }));
      go(to('users'));
    });
  }
}
customElements.define('desk-user', User);

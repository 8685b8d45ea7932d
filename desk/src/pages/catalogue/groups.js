// User groups and their members.

import { html, nothing } from 'lit';

import { ask } from '../../api.js';
import { AddMembers, DeleteGroup, Groups as List, Members, RemoveMembers, SaveGroup } from '../../documents.js';
import { confirm } from '../../parts/dialog.js';
import { area, text } from '../../parts/form.js';
import { idsIn } from '../../parts/ids.js';
import { Page } from '../../parts/part.js';
import '../../parts/picker.js';
import { count, more, people, person, problem, state } from '../../parts/show.js';
import { rich, t } from '../../texts.js';

/** The most users to add or remove in one request. */
const AT_ONCE = 1_000;

class Groups extends Page {
  constructor() {
    super();
    Object.assign(this, { groups: [], code: '', title: '', open: null, pasted: '', members: [] });
  }

  connectedCallback() {
    super.connectedCallback();
    this.fill();
  }

  async fill() {
    const data = await this.load(List);
    if (data) this.set({ groups: data.userGroups });
  }

  /** Loads the open group's members, or more of them. */
  async list(after) {
    const open = this.groups.find(({ code }) => code === this.open);
    const data = open && (await this.load(Members, { group: open.id, after }));
    if (!data?.node || open.code !== this.open) return;
    const { nodes, pageInfo } = data.node.members;
    this.set({ members: after ? [...this.members, ...nodes] : nodes, pageInfo });
  }

  render() {
    const { groups, isLoading, loadFailure, failure } = this;
    const open = groups.find(({ code }) => code === this.open);
    return html`
      ${state({ isLoading, loadFailure, isEmpty: groups.length === 0, empty: t('groups.empty') })}
      ${groups.length > 0 ? html`<table class="cards"><caption class="vh">${t('groups')}</caption>
        <thead><tr><th>${t('group')}</th><th>${t('code')}</th><th class="number">${t('groups.members')}</th><th><span class="vh">${t('acts')}</span></th></tr></thead>
        <tbody>${groups.map(({ code, title, memberCount }) => html`<tr><th scope="row"><bdi>${title || code}</bdi></th><td data-label=${t('code')} class="code"><bdi>${code}</bdi></td>
          <td data-label=${t('groups.members')} class="number">${count(memberCount)}</td><td class="acts">
            <button type="button" class="quiet" aria-label=${t('groups.membersOf', { group: title || code })} aria-expanded=${String(code === this.open)} @click=${() => this.show(code)}>${t('groups.members')}</button>
            <button type="button" class="quiet" aria-label=${t('groups.renameLabel', { group: title || code })} @click=${() => this.edit(code, title)}>${t('groups.rename')}</button>
            <button type="button" class="quiet danger" aria-label=${t('deleteLabel', { name: title || code })} @click=${() => this.delete(code, title)}>${t('delete')}</button></td></tr>`)}</tbody></table>` : nothing}
      ${open ? this.whole(open) : nothing}
      <form class="card" novalidate @submit=${this.onSubmit}><h2>${groups.some(({ code }) => code === this.code) ? t('groups.renameTitle') : t('groups.new')}</h2>
        ${problem(failure, ['code', 'title'])}
        <div class="pair">
          ${text({ name: 'group-code', label: t('code'), value: this.code, isCode: true, set: (code) => this.set({ code }), failure, path: 'code', placeholder: 'schools' })}
          ${text({ name: 'group-title', label: t('title'), value: this.title, set: (title) => this.set({ title }), failure, path: 'title', placeholder: t('groups.titleExample') })}
        </div>
        <p class="actions"><button class="primary" ?disabled=${this.isBusy}>${t('save')}</button></p></form>`;
  }

  whole({ code, title, memberCount }) {
    return html`<section class="card" aria-label=${t('groups.membersOf', { group: title || code })}><h2>${rich('groups.size', { group: html`<bdi>${title || code}</bdi>`, people: people(memberCount) })}</h2>
      <tidings-picker name="member" label=${t('groups.addUser')} takes @tidings-picked=${({ detail }) => this.change(AddMembers, code, [detail.id], 'added')}></tidings-picker>
      ${area({ name: 'members', label: t('groups.many'), value: this.pasted, isCode: true, set: (pasted) => this.set({ pasted }) })}
      <p class="actions start">
        <button type="button" ?disabled=${this.isBusy} @click=${() => this.many(AddMembers, code, 'added')}>${t('groups.addThese')}</button>
        <button type="button" class="danger" ?disabled=${this.isBusy} @click=${() => this.many(RemoveMembers, code, 'takenOut')}>${t('groups.removeThese')}</button></p>
      ${this.members.length > 0 ? html`<ul class="list" aria-label=${t('groups.list')}>${this.members.map((user) => html`<li><span>${person(user)} ${user.name ? html`<small class="code"><bdi>${user.id}</bdi></small>` : nothing}</span>
        <button type="button" class="quiet danger" aria-label=${t('groups.takeOutLabel', { user: user.name || user.id })} ?disabled=${this.isBusy} @click=${() => this.change(RemoveMembers, code, [user.id], 'takenOut')}>${t('takeOut')}</button></li>`)}</ul>` : nothing}
      ${more(this.pageInfo, () => this.list(this.pageInfo.endCursor), this.isLoading)}
      <p class="hint">${t('groups.hint')}</p></section>`;
  }

  async show(code) {
    this.set({ open: this.open === code ? null : code, pasted: '', members: [], pageInfo: null });
    this.list();
    await this.updateComplete;
    this.querySelector('#member')?.focus();
  }

  many(document, code, done) {
    const ids = idsIn(this.pasted);
    if (ids.length > 0) this.change(document, code, ids, done);
  }

  /** Changes the members of a group, and says the text of the key `done`. */
  change(document, code, ids, done) {
    return this.act(async () => {
      for (let from = 0; from < ids.length; from += AT_ONCE) await ask(document, { code, users: ids.slice(from, from + AT_ONCE) });
      this.set({ pasted: '' });
      await this.fill();
      await this.list();
      this.say(() => t(done, { n: ids.length }));
    });
  }

  edit(code, title) {
    this.set({ code, title: title ?? '' });
    this.querySelector('#group-title').focus();
  }

  onSubmit = (event) => {
    event.preventDefault();
    this.act(async () => {
      await ask(SaveGroup, { code: this.code.trim(), title: this.title.trim() || null });
      this.set({ code: '', title: '' });
      await this.fill();
      this.say(() => t('groups.saved'));
    });
  };

  async delete(code, title) {
    const text = t('groups.deleteText');
    if (!(await confirm({ title: t('deleteTitle', { name: title || code }), text, action: t('delete'), isDanger: true, typed: code }))) return;
    await this.act(async () => {
      await ask(DeleteGroup, { code });
      this.set({ open: null });
      await this.fill();
      this.say(() => t('groups.deleted'));
    });
  }
}
customElements.define('desk-groups', Groups);

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
      ${state({ isLoading, loadFailure, isEmpty: groups.length === 0, empty: 'There are no groups yet.' })}
      ${groups.length > 0 ? html`<table class="cards"><caption class="vh">Groups</caption>
        <thead><tr><th>Group</th><th>Code</th><th class="number">Members</th><th><span class="vh">Acts</span></th></tr></thead>
        <tbody>${groups.map(({ code, title, memberCount }) => html`<tr><th scope="row"><bdi>${title || code}</bdi></th><td data-label="Code" class="code"><bdi>${code}</bdi></td>
          <td data-label="Members" class="number">${count(memberCount)}</td><td class="acts">
            <button type="button" class="quiet" aria-label="Members of ${title || code}" aria-expanded=${String(code === this.open)} @click=${() => this.show(code)}>Members</button>
            <button type="button" class="quiet" aria-label="Rename ${title || code}" @click=${() => this.edit(code, title)}>Rename</button>
            <button type="button" class="quiet danger" aria-label="Delete ${title || code}" @click=${() => this.delete(code, title)}>Delete</button></td></tr>`)}</tbody></table>` : nothing}
      ${open ? this.whole(open) : nothing}
      <form class="card" novalidate @submit=${this.onSubmit}><h2>${groups.some(({ code }) => code === this.code) ? 'Rename a group' : 'A new group'}</h2>
        ${problem(failure, ['code', 'title'])}
        <div class="pair">
          ${text({ name: 'group-code', label: 'Code', value: this.code, isCode: true, set: (code) => this.set({ code }), failure, path: 'code', placeholder: 'schools' })}
          ${text({ name: 'group-title', label: 'Title', value: this.title, set: (title) => this.set({ title }), failure, path: 'title', placeholder: 'Schools' })}
        </div>
        <p class="actions"><button class="primary" ?disabled=${this.isBusy}>Save</button></p></form>`;
  }

  whole({ code, title, memberCount }) {
    return html`<section class="card" aria-label="Members of ${title || code}"><h2><bdi>${title || code}</bdi>: ${people(memberCount)}</h2>
      <tidings-picker name="member" label="Add a user" takes @tidings-picked=${({ detail }) => this.change(AddMembers, code, [detail.id], 'added')}></tidings-picker>
      ${area({ name: 'members', label: 'Or many: ids by commas or lines, or a CSV', value: this.pasted, isCode: true, set: (pasted) => this.set({ pasted }) })}
      <p class="actions start">
        <button type="button" ?disabled=${this.isBusy} @click=${() => this.many(AddMembers, code, 'added')}>Add these</button>
        <button type="button" class="danger" ?disabled=${this.isBusy} @click=${() => this.many(RemoveMembers, code, 'taken out')}>Take these out</button></p>
      ${this.members.length > 0 ? html`<ul class="list" aria-label="Who is in it">${this.members.map((user) => html`<li><span>${person(user)} ${user.name ? html`<small class="code"><bdi>${user.id}</bdi></small>` : nothing}</span>
        <button type="button" class="quiet danger" aria-label="Take ${user.name || user.id} out" ?disabled=${this.isBusy} @click=${() => this.change(RemoveMembers, code, [user.id], 'taken out')}>Take out</button></li>`)}</ul>` : nothing}
      ${more(this.pageInfo, () => this.list(this.pageInfo.endCursor), this.isLoading)}
      <p class="hint">A removed member keeps what was sent to the group before.</p></section>`;
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

  change(document, code, ids, done) {
    return this.act(async () => {
      for (let from = 0; from < ids.length; from += AT_ONCE) await ask(document, { code, users: ids.slice(from, from + AT_ONCE) });
      this.set({ pasted: '' });
      await this.fill();
      await this.list();
      this.say(`${people(ids.length)} ${done}.`);
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
      this.say('The group is saved.');
    });
  };

  async delete(code, title) {
    const text = 'Its memberships and subscriptions end; what was sent to it before stays with its members.';
    if (!(await confirm({ title: `Delete “${title || code}”?`, text, action: 'Delete', isDanger: true, typed: code }))) return;
    await this.act(async () => {
      await ask(DeleteGroup, { code });
      this.set({ open: null });
      await this.fill();
      this.say('The group is deleted.');
    });
  }
}
customElements.define('desk-groups', Groups);

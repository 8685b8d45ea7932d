// Kinds of views: chats, feeds, and other pages that count as read when they are visited.

import { html, nothing } from 'lit';

import { ask } from '../../api.js';
import { DeleteViewCode, SaveViewCode, ViewCodes as List } from '../../documents.js';
import { confirm } from '../../parts/dialog.js';
import { check, text } from '../../parts/form.js';
import { Page } from '../../parts/part.js';
import { problem, state } from '../../parts/show.js';

class ViewCodes extends Page {
  constructor() {
    super();
    Object.assign(this, { codes: [], code: '', open: false });
  }

  connectedCallback() {
    super.connectedCallback();
    this.fill();
  }

  async fill() {
    const data = await this.load(List);
    if (data) this.set({ codes: data.viewCodes });
  }

  render() {
    const { codes, isLoading, loadFailure, failure } = this;
    return html`
      ${state({ isLoading, loadFailure, isEmpty: codes.length === 0, empty: 'There are no codes of views yet.' })}
      ${codes.length > 0 ? html`<table class="cards"><caption class="vh">Codes of views</caption>
        <thead><tr><th>Code</th><th>Users join and leave</th><th><span class="vh">Acts</span></th></tr></thead>
        <tbody>${codes.map(({ code, open }) => html`<tr><th scope="row"><bdi>${code}</bdi></th><td data-label="Users join and leave" class="named">${open ? 'by themselves' : 'only by a service'}</td>
          <td class="acts">${this.isAdmin ? html`
            <button type="button" class="quiet" aria-label="${open ? 'Close' : 'Open'} it: ${code}" @click=${() => this.save(code, !open)}>${open ? 'Close' : 'Open'} it</button>
            <button type="button" class="quiet danger" aria-label="Delete ${code}" @click=${() => this.delete(code)}>Delete</button>` : nothing}</td></tr>`)}</tbody></table>` : nothing}
      ${this.isAdmin ? html`<form class="card" novalidate @submit=${(event) => {
        event.preventDefault();
        this.save(this.code.trim(), this.open);
      }}><h2>A new code</h2>
        ${problem(failure, ['code'])}
        ${text({ name: 'view-code', label: 'Code', value: this.code, isCode: true, set: (code) => this.set({ code }), failure, path: 'code', placeholder: 'chat' })}
        ${check({ name: 'view-open', label: 'Users may join and leave by themselves', value: this.open, set: (open) => this.set({ open }) })}
        <p class="actions"><button class="primary" ?disabled=${this.isBusy}>Save</button></p></form>` : nothing}`;
  }

  save(code, open) {
    return this.act(async () => {
      await ask(SaveViewCode, { code, open });
      this.set({ code: '', open: false });
      await this.fill();
      this.say('The code is saved.');
    });
  }

  async delete(code) {
    if (!(await confirm({ title: `Delete “${code}”?`, text: 'Its views are closed; who is in one stays.', action: 'Delete', isDanger: true }))) return;
    await this.act(async () => {
      await ask(DeleteViewCode, { code });
      await this.fill();
      this.say('The code is deleted.');
    });
  }
}
customElements.define('desk-view-codes', ViewCodes);

// Reasons to subscribe, with the actions that each subscribes to.

import { html, nothing } from 'lit';

import { ask } from '../../api.js';
import { DeleteReason, Reasons as List, SaveReason } from '../../documents.js';
import { confirm } from '../../parts/dialog.js';
import { text } from '../../parts/form.js';
import { idsIn } from '../../parts/ids.js';
import { Page } from '../../parts/part.js';
import { problem, state } from '../../parts/show.js';

class Reasons extends Page {
  constructor() {
    super();
    Object.assign(this, { reasons: [], code: '', actions: '' });
  }

  connectedCallback() {
    super.connectedCallback();
    this.fill();
  }

  async fill() {
    const data = await this.load(List);
    if (data) this.set({ reasons: data.subscriptionReasons });
  }

  render() {
    const { reasons, isLoading, loadFailure, failure } = this;
    return html`
      ${state({ isLoading, loadFailure, isEmpty: reasons.length === 0, empty: 'There are no reasons yet.' })}
      ${reasons.length > 0 ? html`<table class="cards"><caption class="vh">Reasons</caption>
        <thead><tr><th>Reason</th><th>Actions</th><th><span class="vh">Acts</span></th></tr></thead>
        <tbody>${reasons.map(({ code, actions }) => html`<tr><th scope="row"><bdi>${code}</bdi></th><td data-label="Actions"><bdi>${actions.join(', ')}</bdi></td>
          <td class="acts">${this.isAdmin ? html`
            <button type="button" class="quiet" aria-label="Change ${code}" @click=${() => this.edit(code, actions)}>Change</button>
            <button type="button" class="quiet danger" aria-label="Delete ${code}" @click=${() => this.delete(code)}>Delete</button>` : nothing}</td></tr>`)}</tbody></table>` : nothing}
      ${this.isAdmin ? html`<form class="card" novalidate @submit=${this.onSubmit}><h2>${reasons.some(({ code }) => code === this.code) ? 'Change a reason' : 'A new reason'}</h2>
        ${problem(failure, ['code', 'actions'])}
        <div class="pair">
          ${text({ name: 'reason-code', label: 'Reason', value: this.code, isCode: true, set: (code) => this.set({ code }), failure, path: 'code', placeholder: 'create_product' })}
          ${text({ name: 'reason-actions', label: 'Actions', value: this.actions, isCode: true, set: (actions) => this.set({ actions }), failure, path: 'actions', placeholder: 'comment, like' })}
        </div>
        <p class="actions"><button class="primary" ?disabled=${this.isBusy}>Save</button></p></form>` : nothing}`;
  }

  edit(code, actions) {
    this.set({ code, actions: actions.join(', ') });
    this.querySelector('#reason-actions').focus();
  }

  onSubmit = (event) => {
    event.preventDefault();
    this.act(async () => {
      await ask(SaveReason, { code: this.code.trim(), actions: idsIn(this.actions) });
      this.set({ code: '', actions: '' });
      await this.fill();
      this.say('The reason is saved.');
    });
  };

  async delete(code) {
    if (!(await confirm({ title: `Delete “${code}”?`, text: 'Who subscribed by it keeps what they have.', action: 'Delete', isDanger: true }))) return;
    await this.act(async () => {
      await ask(DeleteReason, { code });
      await this.fill();
      this.say('The reason is deleted.');
    });
  }
}
customElements.define('desk-reasons', Reasons);

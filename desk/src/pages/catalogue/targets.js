// Target types, and whether users may subscribe and follow by themselves.

import { html, nothing } from 'lit';

import { ask } from '../../api.js';
import { DeleteTargetType, SaveFollowPolicy, SaveTargetType, TargetTypes as List } from '../../documents.js';
import { confirm } from '../../parts/dialog.js';
import { check, text } from '../../parts/form.js';
import { Page } from '../../parts/part.js';
import { problem, state } from '../../parts/show.js';

const policy = (isOpen) => (isOpen ? 'OPEN' : 'BACKEND_ONLY');

class TargetTypes extends Page {
  constructor() {
    super();
    Object.assign(this, { types: [], followPolicy: 'BACKEND_ONLY', code: '', open: false });
  }

  connectedCallback() {
    super.connectedCallback();
    this.fill();
  }

  async fill() {
    const data = await this.load(List);
    if (data) this.set({ types: data.targetTypes, followPolicy: data.followPolicy });
  }

  render() {
    const { types, followPolicy, isLoading, loadFailure, failure } = this;
    const empty = 'No target type is listed: only your backend subscribes users.';
    return html`
      ${state({ isLoading, loadFailure, isEmpty: types.length === 0, empty })}
      ${types.length > 0 ? html`<table class="cards"><caption class="vh">Target types</caption>
        <thead><tr><th>Target type</th><th>Subscribed by</th><th><span class="vh">Acts</span></th></tr></thead>
        <tbody>${types.map(({ code, subscriptionPolicy }) => this.row(code, subscriptionPolicy === 'OPEN'))}</tbody></table>` : nothing}
      ${this.isAdmin ? html`<form class="card" novalidate @submit=${(event) => {
        event.preventDefault();
        this.save(this.code.trim(), this.open);
      }}><h2>A target type</h2>
        ${problem(failure, ['code'])}
        ${text({ name: 'target-code', label: 'Code', value: this.code, isCode: true, set: (code) => this.set({ code }), failure, path: 'code', placeholder: 'product' })}
        ${check({ name: 'target-open', label: 'Users may subscribe by themselves', value: this.open, set: (open) => this.set({ open }), hint: 'They then get every reminder about such targets.' })}
        <p class="actions"><button class="primary" ?disabled=${this.isBusy}>Save</button></p></form>` : nothing}
      <section class="card"><h2>Follows</h2>
        ${check({ name: 'follows-open', label: 'Users may follow others by themselves', value: followPolicy === 'OPEN', isDisabled: !this.isAdmin || this.isBusy,
          set: (open) => this.saveFollows(open), hint: 'A follower gets every reminder that the other user has sent.' })}</section>`;
  }

  row(code, isOpen) {
    const act = isOpen ? 'Close' : 'Open';
    return html`<tr><th scope="row"><bdi>${code}</bdi></th><td data-label="Subscribed by" class="named">${isOpen ? 'users themselves' : 'your backend alone'}</td>
      <td class="acts">${this.isAdmin ? html`
        <button type="button" class="quiet" aria-label="${act} it: ${code}" @click=${() => this.save(code, !isOpen)}>${act} it</button>
        <button type="button" class="quiet danger" aria-label="Delete ${code}" @click=${() => this.delete(code)}>Delete</button>` : nothing}</td></tr>`;
  }

  save(code, open) {
    return this.act(async () => {
      await ask(SaveTargetType, { code, policy: policy(open) });
      this.set({ code: '', open: false });
      await this.fill();
      this.say('The target type is saved.');
    });
  }

  saveFollows(open) {
    return this.act(async () => {
      await ask(SaveFollowPolicy, { policy: policy(open) });
      await this.fill();
      this.say(open ? 'Users may follow others now.' : 'Only your backend makes users follow others now.');
    });
  }

  async delete(code) {
    const text = 'Users cannot subscribe to its targets any more; subscriptions stay.';
    if (!(await confirm({ title: `Delete “${code}”?`, text, action: 'Delete', isDanger: true }))) return;
    await this.act(async () => {
      await ask(DeleteTargetType, { code });
      await this.fill();
      this.say('The target type is deleted.');
    });
  }
}
customElements.define('desk-target-types', TargetTypes);

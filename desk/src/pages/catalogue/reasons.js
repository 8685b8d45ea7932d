// Reasons to subscribe, with the actions that each subscribes to.

import { html, nothing } from 'lit';

import { ask } from '../../api.js';
import { DeleteReason, Reasons as List, SaveReason } from '../../documents.js';
import { confirm } from '../../parts/dialog.js';
import { text } from '../../parts/form.js';
import { idsIn } from '../../parts/ids.js';
import { Page } from '../../parts/part.js';
import { problem, state } from '../../parts/show.js';
import { t } from '../../texts.js';

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
      ${state({ isLoading, loadFailure, isEmpty: reasons.length === 0, empty: t('reasons.empty') })}
      ${reasons.length > 0 ? html`<table class="cards"><caption class="vh">${t('catalogue.reasons')}</caption>
        <thead><tr><th>${t('reasons.reason')}</th><th>${t('actions')}</th><th><span class="vh">${t('acts')}</span></th></tr></thead>
        <tbody>${reasons.map(({ code, actions }) => html`<tr><th scope="row"><bdi>${code}</bdi></th><td data-label=${t('actions')}><bdi>${actions.join(', ')}</bdi></td>
          <td class="acts">${this.isAdmin ? html`
            <button type="button" class="quiet" aria-label=${t('reasons.changeLabel', { code })} @click=${() => this.edit(code, actions)}>${t('reasons.change')}</button>
            <button type="button" class="quiet danger" aria-label=${t('deleteLabel', { name: code })} @click=${() => this.delete(code)}>${t('delete')}</button>` : nothing}</td></tr>`)}</tbody></table>` : nothing}
      ${this.isAdmin ? html`<form class="card" novalidate @submit=${this.onSubmit}><h2>${reasons.some(({ code }) => code === this.code) ? t('reasons.changeTitle') : t('reasons.new')}</h2>
        ${problem(failure, ['code', 'actions'])}
        <div class="pair">
          ${text({ name: 'reason-code', label: t('reasons.reason'), value: this.code, isCode: true, set: (code) => this.set({ code }), failure, path: 'code', placeholder: 'create_product' })}
          ${text({ name: 'reason-actions', label: t('actions'), value: this.actions, isCode: true, set: (actions) => this.set({ actions }), failure, path: 'actions', placeholder: 'comment, like' })}
        </div>
        <p class="actions"><button class="primary" ?disabled=${this.isBusy}>${t('save')}</button></p></form>` : nothing}`;
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
      this.say(() => t('reasons.saved'));
    });
  };

  async delete(code) {
    if (!(await confirm({ title: t('deleteTitle', { name: code }), text: t('reasons.deleteText'), action: t('delete'), isDanger: true }))) return;
    await this.act(async () => {
      await ask(DeleteReason, { code });
      await this.fill();
      this.say(() => t('reasons.deleted'));
    });
  }
}
customElements.define('desk-reasons', Reasons);

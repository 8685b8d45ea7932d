// Kinds of views: chats, feeds, and other pages that count as read when they are visited.

import { html, nothing } from 'lit';

import { ask } from '../../api.js';
import { DeleteViewCode, SaveViewCode, ViewCodes as List } from '../../documents.js';
import { confirm } from '../../parts/dialog.js';
import { check, text } from '../../parts/form.js';
import { Page } from '../../parts/part.js';
import { problem, state } from '../../parts/show.js';
import { t } from '../../texts.js';

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
      ${state({ isLoading, loadFailure, isEmpty: codes.length === 0, empty: t('views.empty') })}
      ${codes.length > 0 ? html`<table class="cards"><caption class="vh">${t('catalogue.views')}</caption>
        <thead><tr><th>${t('code')}</th><th>${t('views.open')}</th><th><span class="vh">${t('acts')}</span></th></tr></thead>
        <tbody>${codes.map(({ code, open }) => html`<tr><th scope="row"><bdi>${code}</bdi></th><td data-label=${t('views.open')} class="named">${open ? t('views.byUsers') : t('views.byService')}</td>
          <td class="acts">${this.isAdmin ? html`
            <button type="button" class="quiet" aria-label=${t(open ? 'closeLabel' : 'openLabel', { code })} @click=${() => this.save(code, !open)}>${open ? t('closeIt') : t('openIt')}</button>
            <button type="button" class="quiet danger" aria-label=${t('deleteLabel', { name: code })} @click=${() => this.delete(code)}>${t('delete')}</button>` : nothing}</td></tr>`)}</tbody></table>` : nothing}
      ${this.isAdmin ? html`<form class="card" novalidate @submit=${(event) => {
        event.preventDefault();
        this.save(this.code.trim(), this.open);
      }}><h2>${t('views.new')}</h2>
        ${problem(failure, ['code'])}
        ${text({ name: 'view-code', label: t('code'), value: this.code, isCode: true, set: (code) => this.set({ code }), failure, path: 'code', placeholder: 'chat' })}
        ${check({ name: 'view-open', label: t('views.openLabel'), value: this.open, set: (open) => this.set({ open }) })}
        <p class="actions"><button class="primary" ?disabled=${this.isBusy}>${t('save')}</button></p></form>` : nothing}`;
  }

  save(code, open) {
    return this.act(async () => {
      await ask(SaveViewCode, { code, open });
      this.set({ code: '', open: false });
      await this.fill();
      this.say(() => t('views.saved'));
    });
  }

  async delete(code) {
    if (!(await confirm({ title: t('deleteTitle', { name: code }), text: t('views.deleteText'), action: t('delete'), isDanger: true }))) return;
    await this.act(async () => {
      await ask(DeleteViewCode, { code });
      await this.fill();
      this.say(() => t('views.deleted'));
    });
  }
}
customElements.define('desk-view-codes', ViewCodes);

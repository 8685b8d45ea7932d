// The message types in catalogue order.

import { html, nothing } from 'lit';

import { Catalogue } from '../../documents.js';
import { Page } from '../../parts/part.js';
import { state, word } from '../../parts/show.js';
import { to } from '../../route.js';

class Types extends Page {
  connectedCallback() {
    super.connectedCallback();
    this.types = [];
    this.fill();
  }

  async fill() {
    const data = await this.load(Catalogue);
    if (data) this.set({ types: data.messageTypes });
  }

  render() {
    const { types, isLoading, loadFailure } = this;
    return html`
      ${this.isAdmin ? html`<p class="actions"><a class="button primary" href=${to('catalogue', ['types', '+'])}>New type</a></p>` : nothing}
      ${state({ isLoading, loadFailure, isEmpty: types.length === 0, empty: 'There are no types yet.' })}
      ${types.length > 0 ? html`<table class="cards"><caption class="vh">Message types</caption>
        <thead><tr><th>Type</th><th>Code</th><th>Group</th><th>Read</th><th>Leaves by</th><th>Template</th></tr></thead>
        <tbody>${types.map((of) => html`<tr>
          <th scope="row"><a href=${to('catalogue', ['types', of.code])}><bdi>${of.title}</bdi></a>${of.mandatory ? html` <span class="badge">mandatory</span>` : nothing}</th>
          <td data-label="Code" class="code"><bdi>${of.code}</bdi></td><td data-label="Group" class="named"><bdi>${of.group ?? '–'}</bdi></td><td data-label="Read" class="named">${of.readPolicy === 'AUTO' ? 'by looking' : 'one by one'}</td>
          <td data-label="Leaves by" class="named">${of.delivery.map(({ channel }) => word(channel)).join(', ') || '–'}</td>
          <td data-label="Template" class="named">${of.templateError ? html`<span class="badge bad" title=${of.templateError}>flaw</span>` : of.template ? 'yes' : '–'}</td></tr>`)}</tbody></table>` : nothing}`;
  }
}
customElements.define('desk-types', Types);

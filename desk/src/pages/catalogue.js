// The catalogue: message types with templates, reasons, target types, groups, defaults, and codes of views.

import { html, nothing } from 'lit';

import { Page } from '../parts/part.js';
import { to } from '../route.js';
import './catalogue/defaults.js';
import './catalogue/groups.js';
import './catalogue/reasons.js';
import './catalogue/targets.js';
import './catalogue/type.js';
import './catalogue/types.js';
import './catalogue/views.js';

const PARTS = [['types', 'Types'], ['reasons', 'Reasons'], ['targets', 'Targets'], ['groups', 'Groups'], ['defaults', 'Defaults'], ['views', 'View codes']];

class Catalogue extends Page {
  get part() {
    return PARTS.some(([name]) => name === this.rest[0]) ? this.rest[0] : 'types';
  }

  render() {
    const { part } = this;
    return html`
      <h1 tabindex="-1">Catalogue</h1>
      <nav class="tabs" aria-label="Parts of the catalogue"><ul>${PARTS.map(([name, title]) => html`<li><a
        href=${to('catalogue', [name])} aria-current=${name === part ? 'page' : nothing}>${title}</a></li>`)}</ul></nav>
      ${this.isAdmin || part === 'groups' ? nothing : html`<p class="note">Only operators change this; you may look.</p>`}
      ${this.shown(part)}`;
  }

  shown(part) {
    const { caller, rest } = this;
    switch (part) {
      case 'reasons':
        return html`<desk-reasons .caller=${caller}></desk-reasons>`;
      case 'targets':
        return html`<desk-target-types .caller=${caller}></desk-target-types>`;
      case 'groups':
        return html`<desk-groups .caller=${caller}></desk-groups>`;
      case 'defaults':
        return html`<desk-defaults .caller=${caller}></desk-defaults>`;
      case 'views':
        return html`<desk-view-codes .caller=${caller}></desk-view-codes>`;
      default:
        return rest[1] ? html`<desk-type .caller=${caller} .rest=${rest}></desk-type>` : html`<desk-types .caller=${caller}></desk-types>`;
    }
  }
}
customElements.define('desk-catalogue', Catalogue);

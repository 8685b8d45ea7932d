// Form fields: label, control, hint, and the server's error for the field.

import { html, nothing } from 'lit';
import { live } from 'lit/directives/live.js';

import { told } from '../api.js';
import { isAt } from './show.js';

/**
 * All fields take a name that is unique on the page, a label, the `path` in the operation's input, and the last
 * failure.
 */
function field({ name, label, hint, failure, path, wrong, isWide }, control) {
  const says = wrong ?? (failure && path && isAt(failure, path) ? told(failure) : null);
  const described = [says && `${name}-wrong`, hint && `${name}-hint`].filter(Boolean).join(' ');
  return html`<div class="field ${isWide ? 'wide' : ''}">
    <label for=${name}>${label}</label>
    ${control({ described: described || nothing, invalid: says ? 'true' : nothing })}
    ${says ? html`<p class="wrong" id="${name}-wrong">${says}</p>` : nothing}
    ${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : nothing}
  </div>`;
}

export const text = (of) => field(of, ({ described, invalid }) => html`
  <input id=${of.name} type=${of.type ?? 'text'} .value=${live(of.value ?? '')} placeholder=${of.placeholder ?? nothing}
    ?required=${of.isRequired} min=${of.min ?? nothing} maxlength=${of.most ?? nothing} autocomplete="off" spellcheck=${of.isCode ? 'false' : nothing}
    class=${of.isCode ? 'code' : ''} ?readonly=${of.isFixed} aria-describedby=${described} aria-invalid=${invalid}
    @input=${(event) => of.set(event.target.value)}>`);

export const area = (of) => field(of, ({ described, invalid }) => html`
  <textarea id=${of.name} rows=${of.rows ?? 3} .value=${live(of.value ?? '')} placeholder=${of.placeholder ?? nothing} ?required=${of.isRequired}
    autocomplete="off" spellcheck=${of.isCode ? 'false' : nothing} class=${of.isCode ? 'code' : ''} aria-describedby=${described} aria-invalid=${invalid}
    @input=${(event) => of.set(event.target.value)}></textarea>`);

/** `options` are pairs of a value and its text. */
export const select = (of) => field(of, ({ described, invalid }) => html`
  <select id=${of.name} ?required=${of.isRequired} aria-describedby=${described} aria-invalid=${invalid} @change=${(event) => of.set(event.target.value)}>
    ${of.options.map(([value, shown]) => html`<option value=${value} .selected=${live(value === (of.value ?? ''))}>${shown}</option>`)}
  </select>`);

export const check = ({ name, label, value, set, hint, isDisabled }) => html`
  <div class="check">
    <input id=${name} type="checkbox" .checked=${live(Boolean(value))} ?disabled=${isDisabled} aria-describedby=${hint ? `${name}-hint` : nothing}
      @change=${(event) => set(event.target.checked)}>
    <label for=${name}>${label}</label>
    ${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : nothing}
  </div>`;

/** A choice between a few options that are all visible. */
export const choice = ({ name, label, value, options, set }) => html`
  <fieldset class="choice">
    <legend>${label}</legend>
    ${options.map(([key, shown]) => html`
      <label><input type="radio" name=${name} value=${key} .checked=${live(key === value)} @change=${() => set(key)}> ${shown}</label>`)}
  </fieldset>`;

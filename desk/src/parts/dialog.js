// Confirmation dialogs for irreversible actions.

import { html, nothing, render } from 'lit';

import { rich, t } from '../texts.js';

/**
 * Asks for confirmation; resolves to true if the user confirms. If `typed` is given, the user must type it first.
 * Escape and the other button mean no. As for every modal dialog, the browser returns the focus to where it was.
 */
export function confirm({ title, text, action, isDanger, typed, keep = t('cancel') }) {
  return new Promise((answer) => {
    const place = document.createElement('div');
    document.body.append(place);
    let isRight = !typed;
    let isAnswered = false;
    const end = (said) => {
      if (isAnswered) return;
      isAnswered = true;
      place.firstElementChild.close();
      place.remove();
      answer(said);
    };
    const onInput = (event) => {
      isRight = event.target.value === typed;
      show();
    };
    const onSubmit = (event) => {
      event.preventDefault();
      if (isRight) end(true);
    };
    const show = () => render(html`
      <dialog aria-labelledby="question" aria-describedby="question-text" @cancel=${() => end(false)} @close=${() => end(false)}>
        <form @submit=${onSubmit}>
          <h2 id="question">${title}</h2>
          <div id="question-text">${text}</div>
          ${typed ? html`<div class="field"><label for="question-typed">${rich('confirm.type', { text: html`<b class="code">${typed}</b>` })}</label>
            <input id="question-typed" autocomplete="off" spellcheck="false" @input=${onInput}></div>` : nothing}
          <p class="actions">
            <button type="button" @click=${() => end(false)}>${keep}</button>
            <button class=${isDanger ? 'danger' : 'primary'} ?disabled=${!isRight}>${action}</button>
          </p>
        </form>
      </dialog>`, place);
    show();
    place.firstElementChild.showModal();
  });
}

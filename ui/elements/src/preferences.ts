// The user's preferences: which message types they want.

import { html, nothing, render } from 'lit-html';

import type { PreferencesState, Problem, Tidings } from '../../client/src/index.ts';
import { StoreElement } from './element.ts';
import css from './preferences.css';

const NOTHING_YET: PreferencesState = { status: 'loading', types: [] };

export class TidingsPreferences extends StoreElement {
  constructor() {
    super(css);
  }

  #failed: Problem | undefined;

  protected attach(store: Tidings) {
    return [this.follow(store.preferences), store.onProblem((problem) => this.tell('error', { problem }))];
  }

  get #state(): PreferencesState {
    return this.store?.preferences.get() ?? NOTHING_YET;
  }

  async #set(code: string, box: HTMLInputElement) {
    this.#failed = undefined;
    try {
      await this.store!.preferences.set(code, box.checked);
    } catch (error) {
      this.#failed = error as Problem;
    }
    // The browser has already toggled the switch; reset it to the store's state.
    box.checked = this.#state.types.find(({ type }) => type.code === code)?.isWanted ?? false;
    this.later();
  }

  protected render() {
    const { language } = this;
    const { status, types, problem } = this.#state;
    const isWrong = status === 'offline' || status === 'refused' ? status : problem || this.#failed ? 'failed' : undefined;
    const only = this.codes;
    const shown = only ? types.filter(({ type }) => only.includes(type.code)) : types;
    render(
      html`<div class="preferences" dir=${language.direction ?? nothing}>
      <div role="status">${
        isWrong
          ? html`<div class="banner">${language.say(isWrong)}</div>`
          : status === 'loading' && types.length === 0
            ? html`<p class="lead">${language.say('loading')}</p>`
            : nothing
      }</div>
      ${
        shown.length > 0
          ? html`<p class="lead" id="lead">${language.say('choose')}</p>
      <ul aria-labelledby="lead">${shown.map(
        ({ type, isMandatory, isWanted }) => html`<li><label>
        <span><bdi>${type.title}</bdi>${isMandatory ? html`<small>${language.say('mandatory')}</small>` : nothing}</span>
        <input type="checkbox" role="switch" part="switch" data-type=${type.code} .checked=${isMandatory || isWanted} ?disabled=${isMandatory}
          @change=${(event: Event) => this.#set(type.code, event.target as HTMLInputElement)}>
      </label></li>`,
      )}</ul>`
          : nothing
      }
    </div>`,
      this.root,
    );
  }
}

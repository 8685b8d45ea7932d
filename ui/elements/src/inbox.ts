// The inbox: tabs, filters, and a list that loads more on scrolling.

import { html, nothing, render, type TemplateResult } from 'lit-html';

import type { Filter, InboxList, Item, ListState, Overview, Problem, Tidings, Which } from '../../client/src/index.ts';
import { Announcer } from './announcer.ts';
import { define } from './define.ts';
import { StoreElement } from './element.ts';
import { moveInFeed, showFeed } from './feed.ts';
import { sign, SIGNS } from './icons.ts';
import css from './inbox.css';
import type { Act } from './item.ts';
import { TidingsPreferences } from './preferences.ts';
import { stateView, type View } from './states.ts';
import { tabsOf, tabsView, type Tab } from './tabs.ts';
import type { Key } from './texts.ts';

/** Announcements after actions. */
const DONE: Record<Act, Key> = {
  markRead: 'read',
  markUnread: 'unreadAgain',
  archive: 'archived',
  unarchive: 'unarchived',
  remove: 'removed',
};

const VIEWS: View[] = ['inbox', 'unread', 'archive'];

const NOTHING_YET: ListState = { status: 'loading', items: [], hasMore: false, isFetching: true };

export class TidingsInbox extends StoreElement {
  /** The code of the selected type; empty for all. */
  #chosen = '';
  #view: View = 'inbox';
  /** Whether the preferences are open. */
  #isChoosing = false;
  /** The id of the item that has the focus, or gets it next. */
  #current = '';
  /** The problem of the last mark. */
  #problem: Problem | undefined;
  #list: InboxList | undefined;
  #unsubscribe: (() => void) | undefined;
  #clock: ReturnType<typeof setInterval> | undefined;
  #announcer: Announcer | undefined;
  #preferences: TidingsPreferences | undefined;
  #told: Overview | undefined;
  /** Observes whether the end of the list is near. */
  #sight: IntersectionObserver | undefined;

  constructor() {
    super(css);
  }

  connectedCallback() {
    super.connectedCallback();
    // Updates relative times such as "5 minutes ago".
    this.#clock = setInterval(this.later, 60_000);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.#clock);
    this.#isChoosing = false;
  }

  protected attach(store: Tidings) {
    return [
      this.follow(store.overview),
      store.onItem((item) => this.#heard(item)),
      store.onProblem((problem) => this.closes || this.tell('error', { problem })),
    ];
  }

  protected detach() {
    super.detach();
    this.#unsubscribe?.();
    this.#unsubscribe = this.#list = undefined;
    this.#announcer?.stop();
    this.#sight?.disconnect();
    this.#sight = undefined;
  }

  #heard(item: Item) {
    if (this.closes) return;
    this.#announcer?.item(item);
    this.tell('item', { item });
  }

  get #overview(): Overview {
    return this.store?.overview.get() ?? { status: 'loading', unread: { count: 0, exact: true }, types: [] };
  }

  get #state(): ListState {
    return this.#list?.get() ?? NOTHING_YET;
  }

  /** The listed types; undefined for all. */
  get #types(): string[] | undefined {
    return this.#chosen ? [this.#chosen] : this.codes;
  }

  /** Subscribes to the list for the current tab and view. */
  #follow(store: Tidings) {
    const filter: Filter = {};
    if (this.#types) filter.types = this.#types;
    if (this.#view === 'unread') filter.read = false;
    if (this.#view === 'archive') filter.state = 'ARCHIVED';
    const list = store.inbox(filter);
    if (list === this.#list) return;
    this.#unsubscribe?.();
    this.#list = list;
    this.#unsubscribe = this.follow(list);
    this.#problem = undefined;
    this.root.querySelector('.scroller')?.scrollTo(0, 0);
  }

  protected render() {
    const { root, store } = this;
    const overview = this.#overview;
    const mode = this.getAttribute('tabs');
    if (mode === 'none') this.#chosen = '';
    if (mode === 'types') this.#chosen ||= tabsOf(overview, mode, '', this.language)[0]?.code ?? '';
    const tabs = tabsOf(overview, mode, this.#chosen, this.language);
    if (store) this.#follow(store);
    const { items } = this.#state;
    const focused = root.activeElement?.closest('article');
    const place = Number(focused?.ariaPosInSet) - 1;
    if (!items.some(({ id }) => id === this.#current)) this.#current = (items[place] ?? items[0])?.id ?? '';

    render(this.#template(overview, tabs), root);
    const feed = root.querySelector<HTMLElement>('.feed');
    if (feed) {
      const { language, icons } = this;
      showFeed(
        feed,
        items,
        this.#current,
        { language, icons, now: Date.now(), open: this.#open, act: this.#act },
        this.renderItem,
      );
    }
    // If the focused item is gone, the focus moves to the item in its place.
    if (focused && !focused.isConnected)
      (root.querySelector<HTMLElement>('article[tabindex="0"]') ?? root.querySelector<HTMLElement>('.scroller'))?.focus();
    this.#announcer ??= new Announcer(root.querySelector('.news')!, () => this.language);
    this.#watchEnd();
    if (overview !== this.#told && overview.status !== 'loading' && !this.closes) {
      this.#told = overview;
      this.tell('overview', { overview });
    }
  }

  /** Observers only report changes, so observe again after each page: a short page may leave the end in view. */
  #watchEnd() {
    const scroller = this.root.querySelector('.scroller');
    this.#sight?.disconnect();
    const end = this.root.querySelector('.more');
    if (!end || !globalThis.IntersectionObserver) return;
    this.#sight = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.#more(), {
      root: scroller,
      rootMargin: '400px',
    });
    this.#sight.observe(end);
  }

  #more = () => {
    const { hasMore, isFetching, status } = this.#state;
    if (hasMore && !isFetching && status === 'ready') this.#list?.fetchMore().catch(() => {});
  };

  #open = (item: Item, event: Event) => {
    // The middle button opens links in a new tab; the right button opens nothing.
    if (event.type === 'auxclick' && (event as MouseEvent).button !== 1) return;
    if (!item.isRead) void this.#do(this.store!.markRead({ ids: [item.id] }));
    if (event.type !== 'click') return;
    if (!this.tell('open', { item })) event.preventDefault();
  };

  #act = (item: Item, act: Act) => void this.#do(this.store![act]({ ids: [item.id] }), DONE[act]);

  #markAll = () => {
    const [newest] = this.#state.items;
    if (!newest) return;
    // Items that arrive meanwhile stay unread.
    const which: Which = { upTo: newest.cursor, ...(this.#types && { types: this.#types }) };
    void this.#do(this.store!.markRead(which), 'read');
  };

  /** Announces the result of a mark. The store undoes it if the server refuses it. */
  async #do(mark: Promise<void>, done?: Key) {
    this.#problem = undefined;
    try {
      await mark;
      if (done) this.#say(this.language.say(done));
    } catch (error) {
      this.#problem = error as Problem;
      this.later();
    }
  }

  /** For screen readers, which ignore an unchanged text: clear it in between. */
  #say(text: string) {
    const region = this.root.querySelector('.done');
    if (!region) return;
    region.textContent = '';
    setTimeout(() => (region.textContent = text), 50);
  }

  #keys = (event: KeyboardEvent) => {
    const { key, target } = event;
    const article = (target as HTMLElement).matches('article') ? (target as HTMLElement) : undefined;
    if (article && (key === 'Enter' || key === ' ')) article.querySelector<HTMLElement>('.open')?.click();
    else if (article && key === 'Delete') {
      const item = this.#state.items.find(({ id }) => id === article.dataset.id);
      if (item) this.#act(item, 'remove');
    } else if (!moveInFeed(event, this.root, this.#more)) return;
    event.preventDefault();
  };

  #focusMoved = (event: Event) => {
    const id = (event.target as Element).closest('article')?.dataset.id;
    if (!id || id === this.#current) return;
    this.#current = id;
    this.refresh();
  };

  #template(overview: Overview, tabs: Tab[]): TemplateResult {
    return html`<div class="inbox" dir=${this.language.direction ?? nothing} @keydown=${this.#keys}>
      ${this.#head(overview)}
      ${
        this.#isChoosing
          ? html`<div class="scroller">${this.#choices()}</div>`
          : html`${this.#bars(tabs)}${this.#body(tabs)}<slot name="footer" part="footer"></slot>`
      }
      <div class="vh news" role="status"></div>
      <div class="vh done" role="status"></div>
    </div>`;
  }

  #head({ unread, types }: Overview): TemplateResult {
    const { language } = this;
    const { count } = this.#chosen ? (types.find(({ type }) => type.code === this.#chosen)?.unread ?? unread) : unread;
    const isAllRead = count === 0 || this.#state.items.length === 0;
    return html`<div class="head" part="header">
      ${
        this.#isChoosing
          ? html`${this.#button('back', 'back', () => this.#choose(false))}<h2 part="heading">${language.say('preferences')}</h2>`
          : html`<slot name="header"><h2 part="heading">${language.say('title')}</h2></slot>
          ${this.#view === 'archive' ? nothing : this.#button('markAll', 'all', this.#markAll, isAllRead)}
          ${this.hasAttribute('no-preferences') ? nothing : this.#button('preferences', 'preferences', () => this.#choose(true))}`
      }
      ${this.closes ? this.#button('close', 'close', this.closes) : nothing}
    </div>`;
  }

  #button(key: Key, icon: keyof typeof SIGNS, click: () => void, isDisabled = false): TemplateResult {
    const name = this.language.say(key);
    // Stays focusable when there is nothing to do.
    return html`<button type="button" class="icon ${key}" part="button" aria-label=${name} title=${name}
      aria-disabled=${isDisabled} @click=${() => isDisabled || click()}>${sign(SIGNS[icon])}</button>`;
  }

  #choose(isChoosing: boolean) {
    this.#isChoosing = isChoosing;
    this.refresh();
    this.root.querySelector<HTMLElement>(isChoosing ? '.back' : '.preferences')?.focus();
  }

  #choices(): TidingsPreferences {
    // Another version of this package may own the plain name.
    const preferences = (this.#preferences ??= document.createElement(
      define('tidings-preferences', TidingsPreferences),
    ) as TidingsPreferences);
    const { store, texts, language } = this;
    preferences.setAttribute('exportparts', 'switch');
    preferences.setAttribute('locale', language.locale);
    preferences.setAttribute('types', this.getAttribute('types') ?? '');
    return Object.assign(preferences, { store, texts });
  }

  #bars(tabs: Tab[]): TemplateResult {
    const { language } = this;
    const choose = (code: string) => {
      this.#chosen = code;
      this.refresh();
    };
    const see = (view: View) => {
      this.#view = view;
      this.refresh();
    };
    return html`${tabs.length > 0 ? tabsView(tabs, this.#chosen, language, choose) : nothing}
      <div class="views" part="toolbar" role="group" aria-label=${language.say('views')}>
        ${VIEWS.map((view) => html`<button type="button" data-view=${view} aria-pressed=${view === this.#view} @click=${() => see(view)}>
          ${language.say(view)}</button>`)}
      </div>`;
  }

  #body(tabs: Tab[]): TemplateResult {
    const { language } = this;
    const state = this.#state;
    const { items, hasMore, isFetching, status } = state;
    const hasTabs = tabs.length > 0;
    const isFeed = items.length > 0;
    return html`<div class="scroller" part="list" id="list" tabindex="-1" role=${hasTabs ? 'tabpanel' : nothing}
      aria-labelledby=${hasTabs ? `tab-${this.#chosen}` : nothing} @focusin=${this.#focusMoved}>
      ${stateView({ state, view: this.#view, problem: this.#problem, language, retry: this.#retry })}
      <div class="feed" role=${isFeed ? 'feed' : nothing} aria-label=${isFeed ? language.say('title') : nothing}
        aria-busy=${isFeed ? isFetching || status === 'loading' : nothing}></div>
      ${hasMore
        ? html`<button type="button" class="more plain" @click=${this.#more}>${language.say(isFetching ? 'loading' : 'more')}</button>`
        : nothing}
      <div class="end" tabindex="-1"></div>
    </div>`;
  }

  #retry = () => {
    this.#problem = undefined;
    this.#list?.refresh().catch(() => {});
    this.later();
  };
}

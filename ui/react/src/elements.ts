// The custom elements of @tidings/elements, or of the server's script, as components. Before version 19 React makes attributes of
// properties and hears no events of custom elements; these do both themselves, in any version. They show the store of the provider.

import type { Item, Overview, Problem } from '@tidings/client';
import { createElement, forwardRef, useEffect, useImperativeHandle, useRef } from 'react';
import type { ForwardRefExoticComponent, HTMLAttributes, RefAttributes } from 'react';

import { useNewest } from './newest.js';
import { useTidings } from './provider.js';

export interface TidingsElement extends HTMLElement {
  /** Forgets everything of whoever was signed in, in all tabs. */
  signOut(): void;
}

export interface BellElement extends TidingsElement {
  readonly isOpen: boolean;
  show(): Promise<void>;
  hide(): void;
  toggle(): void;
}

/** Attributes, properties and events as docs/ui.md has them; whatever else there is, as of any element. */
export interface ElementProps extends Omit<HTMLAttributes<HTMLElement>, 'onError'> {
  locale?: string | undefined;
  theme?: 'auto' | 'light' | 'dark' | undefined;
  /** Words of your own. */
  texts?: Record<string, string | Record<string, string>> | undefined;
  onError?: ((event: CustomEvent<{ problem: Problem }>) => void) | undefined;
}

export interface InboxProps extends ElementProps {
  tabs?: 'all' | 'types' | 'none' | undefined;
  /** Without the button to the preferences. */
  noPreferences?: boolean | undefined;
  /** Paths of icons, 24 by 24, by the names that message types have. */
  icons?: Record<string, string> | undefined;
  /** Makes what stands in an item below its title: text or an element of the DOM. Undefined for what stands there by itself. */
  renderItem?: ((item: Item) => unknown) | undefined;
  /** An item is opened, and marked read; then its link is followed, unless `preventDefault` was called. */
  onOpen?: ((event: CustomEvent<{ item: Item }>) => void) | undefined;
}

export interface BellProps extends InboxProps {
  placement?: 'bottom-start' | 'bottom-end' | 'top-start' | 'top-end' | undefined;
  /** Something new has come. */
  onItem?: ((event: CustomEvent<{ item: Item }>) => void) | undefined;
  /** Counts have changed. */
  onOverview?: ((event: CustomEvent<{ overview: Overview }>) => void) | undefined;
}

const EVENTS = { onOpen: 'tidings-open', onItem: 'tidings-item', onOverview: 'tidings-overview', onError: 'tidings-error' } as const;

type Component<P, E> = ForwardRefExoticComponent<P & RefAttributes<E>>;

function component<P extends ElementProps, E extends TidingsElement>(tag: string): Component<P, E> {
  return forwardRef<E, BellProps>((props, given) => {
    const { texts, icons, renderItem, onOpen, onItem, onOverview, onError, noPreferences, className, ...others } = props;
    const store = useTidings();
    const element = useRef<E>(null);
    const newest = useNewest(props);
    useImperativeHandle(given, () => element.current!);
    useEffect(() => void Object.assign(element.current!, { store, texts, icons, renderItem }));
    useEffect(() => {
      const ended = new AbortController();
      for (const [prop, name] of Object.entries(EVENTS) as [keyof typeof EVENTS, string][]) {
        element.current!.addEventListener(name, (event) => newest.current[prop]?.(event as CustomEvent), ended);
      }
      return () => ended.abort();
    }, []);
    return createElement(tag, { ...others, ref: element, class: className, 'no-preferences': noPreferences ? '' : undefined });
  }) as unknown as Component<P, E>;
}

/** `<tidings-bell>`: a button with a count, and the panel that it opens. */
export const Bell: Component<BellProps, BellElement> = /* @__PURE__ */ component('tidings-bell');

/** `<tidings-inbox>`: what the bell opens, by itself. */
export const Inbox: Component<InboxProps, TidingsElement> = /* @__PURE__ */ component('tidings-inbox');

/** `<tidings-preferences>`: which message types the user wants to hear of. */
export const Preferences: Component<ElementProps, TidingsElement> = /* @__PURE__ */ component('tidings-preferences');

// The custom elements of @tidings/elements, or of the server's script, as components with the provider's store. Before
// version 19, React ignores properties and events of custom elements, so the components set and handle them.

import type { Item, Overview, Problem } from '@tidings/client';
import { createElement, forwardRef, useEffect, useImperativeHandle, useRef } from 'react';
import type { ForwardRefExoticComponent, HTMLAttributes, RefAttributes } from 'react';

import { useNewest } from './newest.js';
import { useTidings } from './provider.js';

export interface TidingsElement extends HTMLElement {
  /** Signs the user out, in all tabs. */
  signOut(): void;
}

export interface BellElement extends TidingsElement {
  readonly isOpen: boolean;
  show(): Promise<void>;
  hide(): void;
  toggle(): void;
}

/** Attributes, properties and events as in docs/ui.md, and those of any element. */
export interface ElementProps extends Omit<HTMLAttributes<HTMLElement>, 'onError'> {
  locale?: string | undefined;
  theme?: 'auto' | 'light' | 'dark' | undefined;
  /** Your own texts. */
  texts?: Record<string, string | Record<string, string>> | undefined;
  onError?: ((event: CustomEvent<{ problem: Problem }>) => void) | undefined;
}

export interface InboxProps extends ElementProps {
  tabs?: 'all' | 'types' | 'none' | undefined;
  /** Hides the button of the preferences. */
  noPreferences?: boolean | undefined;
  /** Paths of 24 × 24 icons, by the icon names of message types. */
  icons?: Record<string, string> | undefined;
  /** Renders the part of an item below its title: a string or a DOM element, or undefined for the default. */
  renderItem?: ((item: Item) => unknown) | undefined;
  /** The user opens an item, which is marked read. Its link is followed unless you call `preventDefault`. */
  onOpen?: ((event: CustomEvent<{ item: Item }>) => void) | undefined;
}

export interface BellProps extends InboxProps {
  placement?: 'bottom-start' | 'bottom-end' | 'top-start' | 'top-end' | undefined;
  /** A new item has arrived. */
  onItem?: ((event: CustomEvent<{ item: Item }>) => void) | undefined;
  /** The overview has changed. */
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

/** `<tidings-bell>`: a button with a count, and its panel. */
export const Bell: Component<BellProps, BellElement> = /* @__PURE__ */ component('tidings-bell');

/** `<tidings-inbox>`: the inbox without a bell. */
export const Inbox: Component<InboxProps, TidingsElement> = /* @__PURE__ */ component('tidings-inbox');

/** `<tidings-preferences>`: which message types the user wants. */
export const Preferences: Component<ElementProps, TidingsElement> = /* @__PURE__ */ component('tidings-preferences');

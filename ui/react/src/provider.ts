// The store for the components below.

import { Tidings } from '@tidings/client';
import type { Options } from '@tidings/client';
import { createContext, createElement, useContext, useEffect, useMemo, useReducer } from 'react';
import type { ReactElement, ReactNode } from 'react';

import { useNewest } from './newest.js';

const Context = createContext<Tidings | undefined>(undefined);

/** Options to make a store, or an existing store. */
export type TidingsProviderProps = { children?: ReactNode } & ((Options & { tidings?: undefined }) | { tidings: Tidings });

/**
 * Provides a store. If made from options, it is closed on unmount, and replaced when `server`, `types` or `cap` change;
 * `token` may be a new function each time. Set `key` to the user's id to get a new store for each user.
 */
export function TidingsProvider(props: TidingsProviderProps): ReactElement {
  if (!props.tidings) return createElement(Made, props);
  return createElement(Context.Provider, { value: props.tidings }, props.children);
}

function Made({ server, token, types, cap, children }: Options & { children?: ReactNode }): ReactElement {
  const newest = useNewest(token);
  const [life, begin] = useReducer((lives: number) => lives + 1, 0);
  const wish = JSON.stringify([server, types, cap, life]);
  // Creating a store has no effects; it starts with the first subscriber.
  const made = useMemo(() => {
    const tidings = new Tidings({ server, token: () => newest.current(), types, cap });
    return { tidings, isOver: false, end: 0 as ReturnType<typeof setTimeout> | number };
  }, [wish]);
  useEffect(() => {
    // The component is shown again after it was hidden.
    if (made.isOver) return begin();
    clearTimeout(made.end);
    return () => {
      // Strict mode unmounts and mounts again at once.
      made.end = setTimeout(() => {
        made.isOver = true;
        made.tidings.close();
      });
    };
  }, [made]);
  return createElement(Context.Provider, { value: made.tidings }, children);
}

/** The store of the nearest `TidingsProvider`. */
export function useTidings(): Tidings {
  const tidings = useContext(Context);
  if (!tidings) throw new Error('there is no <TidingsProvider> above');
  return tidings;
}

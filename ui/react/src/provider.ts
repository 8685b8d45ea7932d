// Which store the hooks below read.

import { Tidings } from '@tidings/client';
import type { Options } from '@tidings/client';
import { createContext, createElement, useContext, useEffect, useMemo, useReducer } from 'react';
import type { ReactElement, ReactNode } from 'react';

import { useNewest } from './newest.js';

const Context = createContext<Tidings | undefined>(undefined);

/** How to make a store, or one that is there. */
export type TidingsProviderProps = { children?: ReactNode } & ((Options & { tidings?: undefined }) | { tidings: Tidings });

/**
 * Gives what is below it a store. One that it has made from options is closed when it is unmounted, and another is made for another
 * `server`, `types` or `cap`; `token` may be another function every time. A `key` of whoever is signed in gives each a store of their own.
 */
export function TidingsProvider(props: TidingsProviderProps): ReactElement {
  if (!props.tidings) return createElement(Made, props);
  return createElement(Context.Provider, { value: props.tidings }, props.children);
}

function Made({ server, token, types, cap, children }: Options & { children?: ReactNode }): ReactElement {
  const newest = useNewest(token);
  const [life, begin] = useReducer((lives: number) => lives + 1, 0);
  const wish = JSON.stringify([server, types, cap, life]);
  // To make one is to do nothing yet: it is at work while somebody subscribes.
  const made = useMemo(() => {
    const tidings = new Tidings({ server, token: () => newest.current(), types, cap });
    return { tidings, isOver: false, end: 0 as ReturnType<typeof setTimeout> | number };
  }, [wish]);
  useEffect(() => {
    // Shown again after it was hidden.
    if (made.isOver) return begin();
    clearTimeout(made.end);
    return () => {
      // Strict mode leaves and comes back at once.
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

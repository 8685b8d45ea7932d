import { useInsertionEffect, useRef } from 'react';
import type { RefObject } from 'react';

/** What was given with the last rendering, for whoever calls it later. */
export function useNewest<T>(value: T): RefObject<T> {
  const newest = useRef(value);
  useInsertionEffect(() => {
    newest.current = value;
  });
  return newest;
}

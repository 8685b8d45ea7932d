import { useInsertionEffect, useRef } from 'react';
import type { RefObject } from 'react';

/** A ref with the value of the latest render, for callbacks. */
export function useNewest<T>(value: T): RefObject<T> {
  const newest = useRef(value);
  useInsertionEffect(() => {
    newest.current = value;
  });
  return newest;
}

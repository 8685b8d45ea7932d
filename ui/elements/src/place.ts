// Positions the panel next to the bell, inside the window.

/** The distance from the edge of the window, in pixels. */
const EDGE = 8;

export type Placement = 'bottom-start' | 'bottom-end' | 'top-start' | 'top-end';

/** Sets the panel's position as custom properties of a rule. */
export function place(rule: CSSStyleDeclaration, bell: HTMLElement, panel: HTMLElement, placement: string) {
  const { top, bottom, left, right } = bell.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const { offsetWidth: width } = panel;
  const above = top - 2 * EDGE;
  const below = clientHeight - bottom - 2 * EDGE;
  // Uses the other side if the requested one has too little room.
  const isAbove = placement.startsWith('top') ? above > 240 || above > below : below < 240 && above > below;
  const isLeftAligned = placement.endsWith('start') !== (getComputedStyle(bell).direction === 'rtl');
  const wanted = isLeftAligned ? left : right - width;
  const set = (name: string, value: number | undefined) =>
    rule.setProperty(name, value === undefined ? 'auto' : `${Math.round(value)}px`);
  set('--_left', Math.max(EDGE, Math.min(wanted, clientWidth - width - EDGE)));
  set('--_top', isAbove ? undefined : bottom + EDGE);
  set('--_bottom', isAbove ? clientHeight - top + EDGE : undefined);
  set('--_room', isAbove ? above : below);
}

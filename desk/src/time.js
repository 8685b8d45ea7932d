// Points in time as people read and write them.

import { formatter, t } from './texts.js';

/** All time zones that the browser knows, and UTC. */
export const ZONES = [...new Set(['UTC', ...(Intl.supportedValuesOf?.('timeZone') ?? [])])].sort();

export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

const format = (at, options) => formatter(Intl.DateTimeFormat, options).format(new Date(at));

export const short = (at) => format(at, { dateStyle: 'medium', timeStyle: 'short' });
export const long = (at) => t('time.long', { time: format(at, { dateStyle: 'full', timeStyle: 'medium' }), zone: zoneName(at) });

const zoneName = (at) => formatter(Intl.DateTimeFormat, { timeZoneName: 'short' }).formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName').value;

/** A point in time in a time zone, written out. */
export const inZone = (at, zone) => format(at, { dateStyle: 'full', timeStyle: 'short', timeZone: zone });

/** The wall-clock time of a zone in the format of `datetime-local`. */
export function wall(at, zone) {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit',
  }).formatToParts(new Date(at));
  const { year, month, day, hour, minute } = Object.fromEntries(parts.map(({ type, value }) => [type, value]));
  return `${year}-${month}-${day}T${hour}:${minute}`;
}

/**
 * The point in time at which the clocks of a zone show a wall-clock time. The earlier one if clocks are set back; null
 * if the clocks never show it or the text is invalid.
 */
export function instant(text, zone) {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return null;
  // Offsets from UTC are less than a day, so the days before and after have the offsets on both sides of a clock
  // change.
  const offsets = [-86_400_000, 86_400_000].map((day) => Date.parse(`${wall(asUtc + day, zone)}Z`) - (asUtc + day));
  const found = offsets.map((offset) => asUtc - Math.round(offset / 60_000) * 60_000).filter((at) => wall(at, zone) === text.slice(0, 16));
  return found.length > 0 ? new Date(Math.min(...found)).toISOString() : null;
}

/** A duration in readable form. */
export function span(seconds) {
  if (seconds < 90) return t('span.seconds', { n: Math.round(seconds) });
  if (seconds < 5400) return t('span.minutes', { n: Math.round(seconds / 60) });
  if (seconds < 172_800) return t('span.hours', { n: Math.round(seconds / 3600) });
  return t('span.days', { n: Math.round(seconds / 86_400) });
}

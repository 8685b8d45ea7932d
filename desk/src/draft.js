// The draft, kept until it is sent or the tab is closed, and its conversion into API input.

import { keep, kept } from './storage.js';
import { t } from './texts.js';
import { OWN_ZONE, instant } from './time.js';

const EMPTY = {
  type: '', audience: 'everyone', groups: [], users: [], title: '', body: '', link: '', params: {}, extra: '', sender: '', when: 'now', at: '', zone: OWN_ZONE, expires: '',
};

/** A new draft. Its idempotency key makes sure that it is sent once, even if sending is retried. */
export const blank = () => ({ ...EMPTY, key: crypto.randomUUID() });

const place = ({ tenant, sub }) => `draft.${JSON.stringify([tenant, sub])}`;

/** The caller's stored draft, or a new one. */
export function draftOf(caller) {
  try {
    const found = JSON.parse(kept(place(caller)) ?? 'null');
    if (found?.key) return { ...EMPTY, ...found };
  } catch {
    // Unreadable: start a new draft.
  }
  return blank();
}

export const keepDraft = (caller, draft) => keep(place(caller), JSON.stringify(draft));
export const forgetDraft = (caller) => keep(place(caller), null);

/** The params that a template uses, in order of appearance; finds `params.name` and `params['name']`. */
export function paramsOf(template) {
  const text = [template?.title, template?.body, template?.link].filter(Boolean).join('\n');
  const found = [...text.matchAll(/\bparams(?:\.(\w+)|\[\s*(?:'([^']+)'|"([^"]+)")\s*\])/g)];
  return [...new Set(found.map(([, dotted, single, double]) => dotted ?? single ?? double))];
}

/** The content of a draft: params for the parts that the type's template renders, text for the others. */
export function contentOf(draft, template) {
  const names = paramsOf(template);
  const own = (name) => (template?.[name] ? undefined : draft[name].trim() || undefined);
  const params = { ...Object.fromEntries(names.map((name) => [name, draft.params[name] ?? ''])), ...extraOf(draft) };
  return { title: own('title'), body: own('body'), link: own('link'), params: Object.keys(params).length > 0 ? params : undefined };
}

/** Params written as JSON; null if the text is not a JSON object. */
function extraOf({ extra }) {
  if (!extra.trim()) return {};
  try {
    const found = JSON.parse(extra);
    return typeof found === 'object' && !Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

/** The publication time: null for at once, undefined if the entered time is invalid. */
export function publishAt({ when, at, zone }) {
  return when === 'now' ? null : (instant(at, zone) ?? undefined);
}

/** Problems found without asking the server: field names with their messages. */
export function flaws(draft, template, now = Date.now()) {
  const found = {};
  if (!draft.type) found.type = t('draft.type');
  if (!template?.title && !draft.title.trim()) found.title = t('draft.title');
  if (draft.audience === 'groups' && draft.groups.length === 0) found.groups = t('draft.groups');
  if (draft.audience === 'users' && draft.users.length === 0) found.users = t('draft.users');
  if (draft.when === 'later') {
    const at = publishAt(draft);
    if (at === undefined) found.at = draft.at ? t('time.skipped') : t('draft.at');
    else if (Date.parse(at) <= now) found.at = t('draft.past');
  }
  if (extraOf(draft) === null) found.extra = t('draft.extra');
  if (draft.expires && !(Date.parse(instant(draft.expires, draft.zone)) > now)) found.expires = t('draft.expires');
  return found;
}

/** The audience of a draft; null if it is empty. */
export function audienceOf({ audience, groups, users }) {
  if (audience === 'groups') return groups.length > 0 ? { groups } : null;
  if (audience === 'users') return users.length > 0 ? { users } : null;
  return { everyone: true };
}

/**
 * The operation's name and input: a message for one user, otherwise an announcement. The server refuses content with
 * flaws.
 */
export function inputOf(draft, template) {
  const common = {
    type: draft.type, content: contentOf(draft, template), sender: draft.sender.trim() || undefined,
    strict: true, publishAt: publishAt(draft) ?? undefined, expiresAt: draft.expires ? instant(draft.expires, draft.zone) : undefined, idempotencyKey: draft.key,
  };
  if (draft.audience === 'users' && draft.users.length === 1) return { isMessage: true, input: { ...common, receiver: draft.users[0] } };
  return { isMessage: false, input: { ...common, audience: audienceOf(draft) } };
}

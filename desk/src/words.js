// Names for values of the API. A server that is newer than the page may have others.

import { hasText, t } from './texts.js';

/** An enum value: `TIMED_OUT` is “Timed out”. */
export const word = (code) => (hasText(`word.${code}`) ? t(`word.${code}`) : sentence(code.toLowerCase().replaceAll('_', ' ')));

/** An operation: `retractSentNotification` is “Retract sent notification”. */
export const deed = (action) => (hasText(`deed.${action}`) ? t(`deed.${action}`) : sentence(action.replaceAll(/([A-Z])/g, ' $1').toLowerCase()));

/** A role within a sentence. */
export const role = (code) => (hasText(`role.${code}`) ? t(`role.${code}`) : code.toLowerCase());

/** A field of the API's input within a sentence. */
export const fieldName = (name) => (hasText(`field.${name}`) ? t(`field.${name}`) : name);

const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

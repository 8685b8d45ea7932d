export type * from './types.js';
export type { Document } from './request.js';
export type { Page, Surroundings } from './surroundings.js';
export { Tidings } from './tidings.js';

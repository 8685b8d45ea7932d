// The user's preferences: which message types they want.

import { Failure } from './failure.js';
import { Preferences as Query, UpdatePreferences } from './operations.js';
import type { PreferencesQuery } from './operations.js';
import { Cell } from './readable.js';
import type { Ask } from './request.js';
import { Turns } from './turns.js';
import type { MessageType, Preferences, PreferencesState, Problem, Status } from './types.js';

export interface PreferencesHost {
  ask: Ask;
  readonly isAwake: boolean;
  readonly condition: { status: Status; problem?: Problem | undefined };
  watched(isWatched: boolean): void;
  failed(failure: Failure): void;
  /** Preferences were saved: other tabs must reload them. */
  touched(): void;
}

export class Switches implements Preferences {
  #host: PreferencesHost;
  #types: PreferencesQuery['messageTypes'] | undefined;
  #wanted = new Map<string, boolean>();
  /** Settings being saved: the newest of each type. */
  #setting = new Map<string, { isWanted: boolean }>();
  #isStale = true;
  #problem: Problem | undefined;
  #cell: Cell<PreferencesState>;
  /** Runs saves and reads one after the other, so that each response is newer than the one before. */
  #turns = new Turns();
  #turn = 0;

  constructor(host: PreferencesHost) {
    this.#host = host;
    this.#cell = new Cell<PreferencesState>({ status: 'loading', types: [] }, (isWatched) => {
      host.watched(isWatched);
      this.wake();
    });
  }

  get = (): PreferencesState => this.#cell.get();
  subscribe = (changed: () => void): (() => void) => this.#cell.subscribe(changed);

  async set(type: string, isWanted: boolean): Promise<void> {
    const setting = { isWanted };
    const turn = this.#turn;
    this.#setting.set(type, setting);
    this.show();
    try {
      await this.#turns.take(async () => {
        const answer = await this.#host.ask(UpdatePreferences, { types: [{ code: type, enabled: isWanted }] });
        if (turn === this.#turn) this.#take(answer.updatePreferences.preferences.types);
      });
      this.#host.touched();
    } catch (error) {
      throw Failure.of(error);
    } finally {
      if (this.#setting.get(type) === setting) this.#setting.delete(type);
      this.show();
    }
  }

  touch(): void {
    this.#isStale = true;
    this.wake();
  }

  /** Reads the preferences if they may have changed. */
  wake(): void {
    if (!this.#isStale || !this.#host.isAwake || !this.#cell.isWatched) return;
    this.#isStale = false;
    const turn = this.#turn;
    const reading = this.#turns.take(async () => {
      const { viewer, messageTypes } = await this.#host.ask(Query, {});
      if (turn !== this.#turn) return;
      this.#types = messageTypes;
      this.#problem = undefined;
      this.#take(viewer.preferences.types);
    });
    reading.catch((error) => {
      if (turn !== this.#turn) return;
      const failure = Failure.of(error);
      this.#isStale = true;
      this.#problem = failure.problem;
      this.show();
      this.#host.failed(failure);
    });
  }

  forget(): void {
    this.#turn++;
    this.#types = this.#problem = undefined;
    this.#wanted.clear();
    this.#setting.clear();
    this.#isStale = true;
    this.show();
  }

  show(): void {
    const { status, problem = this.#problem } = this.#host.condition;
    const types = (this.#types ?? []).map(({ code, title, mandatory }) => {
      const type: MessageType = { code, title };
      return { type, isMandatory: mandatory, isWanted: this.#setting.get(code)?.isWanted ?? this.#wanted.get(code) ?? true };
    });
    this.#cell.set({
      status: status === 'ready' && !this.#types ? 'loading' : status,
      types,
      ...(problem && { problem }),
    });
  }

  #take(types: { code: string; enabled: boolean }[]): void {
    this.#wanted = new Map(types.map(({ code, enabled }) => [code, enabled]));
    this.show();
  }
}

// Selectors of devices. The expression language is large: it is loaded with the first pod that needs it.

import type {Steps} from '#src/base/steps.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {DeviceMatcher} from '#src/cel/kubernetes/devices.js';
import {AllocationError, type Candidate, type DeviceClass} from './types.js';

type Language = typeof import('#src/cel/kubernetes/devices.js');
type Compiled = DeviceMatcher | {readonly error: string};
type Selectors = NonNullable<DeviceClass['spec']['selectors']>;

const bound = new CacheBound('device_selectors', 4 << 20);

/** A compiled expression takes about this multiple of its text. */
const bytesPerCharacter = 200;

/** Compiles and evaluates selectors. */
export class DeviceSelectors {
  readonly #compiled = new Lru<string, Compiled>(bound, {bytesOf: (_, text) => text.length * bytesPerCharacter});
  #language: Language | undefined;

  /** Loads the expression language; returns undefined once it is loaded. */
  load(): Promise<void> | undefined {
    if (this.#language) return undefined;
    return import('#src/cel/kubernetes/devices.js').then(module => {
      this.#language = module;
    });
  }

  /**
   * Whether a device matches all selectors of `of`, such as `class x`, in steps. Throws an `AllocationError` for a
   * selector that fails.
   */
  *matches(selectors: Selectors | undefined, {id, device}: Candidate, of: string, sharesCapacity: boolean): Steps<boolean> {
    for (const [index, {cel}] of (selectors ?? []).entries()) {
      const found = yield* this.#matcher(cel?.expression ?? '', sharesCapacity);
      if (typeof found !== 'function') throw new AllocationError(`${of}: selector #${index}: CEL compile error: ${found.error}`);
      const matched = yield* found({...device, driver: id.driver});
      if (typeof matched !== 'boolean') throw new AllocationError(`${of}: selector #${index}: CEL runtime error: ${matched.error}`);
      if (!matched) return false;
    }
    return true;
  }

  *#matcher(text: string, sharesCapacity: boolean): Steps<Compiled> {
    const known = this.#compiled.get(text);
    if (known) return known;
    if (!this.#language) throw new Error('the expression language is not loaded');
    const made = yield* this.#language.deviceMatcher(text, sharesCapacity);
    this.#compiled.set(text, made);
    yield;
    return made;
  }
}

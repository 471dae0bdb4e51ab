// Notices reconciles that read the time of the machine or draw random numbers of their own: they repeat in no run.

import {AsyncLocalStorage} from 'node:async_hooks';
import {relative} from 'node:path';
import {fileURLToPath} from 'node:url';

/** The first call of each function, by its name, with its place. */
export class AmbientCalls {
  readonly #places = new Map<string, string>();

  /** Runs a reconcile. */
  during<T>(act: () => Promise<T>): Promise<T> {
    return reconciling.run(this, act);
  }

  note(what: string): void {
    if (this.#places.has(what)) return;
    this.#places.set(what, placeOf(new Error().stack ?? ''));
  }

  /** Returns the calls in words; empty if there were none. */
  inWords(): string {
    return [...this.#places].map(([what, place]) => `${what} is called at ${place}`).join('; ');
  }
}

const reconciling = new AsyncLocalStorage<AmbientCalls>();

/** How many observe; the functions are replaced while there are any. */
let observers = 0;
let restore = (): void => {};

/** Notices calls during reconciles until it is disposed of. */
export const observeAmbientCalls = (): Disposable => {
  if (observers++ === 0) restore = replaceFunctions();
  return {
    [Symbol.dispose]() {
      if (--observers === 0) restore();
    },
  };
};

const note = (what: string): void => reconciling.getStore()?.note(what);

const noting = <F extends (...args: never[]) => unknown>(what: string, call: F): F =>
  new Proxy(call, {
    apply(target, self, args) {
      note(what);
      return Reflect.apply(target, self, args) as unknown;
    },
  });

/** Replaces what reads the machine's clock and draws numbers. Returns the function that undoes it. */
const replaceFunctions = (): (() => void) => {
  const {Date: date} = globalThis;
  const replaced: readonly (readonly [object, string, (...args: never[]) => unknown])[] = [
    [Math, 'random', noting('Math.random', Reflect.get(Math, 'random') as () => number)],
    [date, 'now', noting('Date.now', Reflect.get(date, 'now') as () => number)],
    [globalThis.crypto, 'randomUUID', noting('crypto.randomUUID', globalThis.crypto.randomUUID)],
  ];
  const before = replaced.map(([owner, name]) => Object.getOwnPropertyDescriptor(owner, name));
  for (const [owner, name, value] of replaced) Object.defineProperty(owner, name, {value, configurable: true, writable: true});
  globalThis.Date = new Proxy(date, {
    construct(target, args, newTarget) {
      if (args.length === 0) note('new Date');
      return Reflect.construct(target, args, newTarget === globalThis.Date ? target : newTarget) as object;
    },
    apply(target, self, args) {
      note('Date()');
      return Reflect.apply(target, self, args) as string;
    },
  });
  return () => {
    globalThis.Date = date;
    replaced.forEach(([owner, name], index) => {
      const descriptor = before[index];
      if (descriptor) Object.defineProperty(owner, name, descriptor);
      else Reflect.deleteProperty(owner, name);
    });
  };
};

/**
 * Returns the file of a line of a stack, and the place in it with a colon before; undefined for a line without a file.
 */
const calledAt = (line: string): {readonly url: string; readonly rest: string} | undefined => {
  const place = line.endsWith(')') ? line.slice(line.lastIndexOf('(') + 1, -1) : line.trim().replace(/^at /, '');
  const [rest = ''] = /:\d{1,9}:\d{1,9}$/.exec(place) ?? [];
  const url = place.slice(0, place.length - rest.length);
  return rest !== '' && /^(file:\/\/|\/)/.test(url) ? {url, rest} : undefined;
};

/** Returns the first line of a stack outside of this module, Node.js and installed packages. */
const placeOf = (stack: string): string => {
  const lines = stack.split('\n').filter(line => /^\s+at /.test(line));
  const own = lines[0] === undefined ? undefined : calledAt(lines[0])?.url;
  const isOwnModule = (line: string): boolean => own !== undefined && own.endsWith('ambient-calls.js') && line.includes(own);
  const skipped = /\bnode:|\/node_modules\/|<anonymous>\)?$|Object\.apply|Object\.construct|AmbientCalls\.note/;
  const line = lines.find(each => !isOwnModule(each) && !skipped.test(each) && !/\bat note \(/.test(each));
  if (line === undefined) return 'an unknown place';
  const called = calledAt(line);
  if (!called) return line.trim().replace(/^at /, '');
  const {url, rest} = called;
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  const near = relative(process.cwd(), path);
  return `${near.startsWith('..') ? path : near}${rest}`;
};

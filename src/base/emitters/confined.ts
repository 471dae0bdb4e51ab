// Where errors of event listeners end: with the connection, stream or process whose event it was, never with the
// program.

import {EventEmitter} from 'node:events';

type Report = (error: unknown) => void;

const reportOf = Symbol('report');

interface Confined extends EventEmitter {
  [reportOf]?: Report | undefined;
}

/**
 * Confines errors that listeners of an emitter throw, and errors that it emits to nobody: each is reported, and ends
 * what the event is about. That is the emitter itself, if it can be destroyed or killed; for a server, the connection
 * or request that the event hands over. Whoever emits the event does not see the error. To be called where the emitter
 * begins.
 */
export const confineErrors = <E extends EventEmitter>(emitter: E, report?: Report): E => {
  const own = emitter as Confined;
  own[reportOf] = report ?? own[reportOf];
  own.emit = emit;
  return emitter;
};

/** Confines the errors of a callback, as of a write, like those of a listener. */
export const confinedTo =
  <A extends unknown[]>(emitter: EventEmitter, callback: (...given: A) => void): ((...given: A) => void) =>
  (...given) => {
    try {
      callback(...given);
    } catch (error) {
      endWith(emitter, error);
    }
  };

/** Reports an error and ends a confined emitter, as if one of its listeners had thrown the error. Never throws. */
export const endWith = (emitter: object, error: unknown): void => {
  reportOnce(emitter, error);
  if (isEndable(emitter)) end(emitter, error);
};

function emit(this: Confined, ...event: Parameters<EventEmitter['emit']>): boolean {
  try {
    return Reflect.apply(EventEmitter.prototype.emit, this, event) as boolean;
  } catch (error) {
    if (isEndable(this)) endWith(this, error);
    else {
      reportOnce(this, error);
      for (const given of event) if (isEndable(given)) end(given, error);
    }
    return true;
  }
}

/** What was reported already: an emitter that is destroyed with an error emits it. */
const reported = new WeakSet();

const reportOnce = (emitter: Confined | object, error: unknown): void => {
  if (typeof error === 'object' && error !== null) {
    if (reported.has(error)) return;
    reported.add(error);
  }
  try {
    (emitter as Confined)[reportOf]?.(error);
  } catch {
    // The failure of a report cannot be reported.
  }
};

type Endable = {destroy(error?: unknown): unknown} | {terminate(): unknown} | {kill(): unknown};

/** What ends streams, connections and requests, WebSockets and threads, and processes. */
const endings = ['destroy', 'terminate', 'kill'];

const isEndable = (value: unknown): value is Endable =>
  typeof value === 'object' && value !== null && endings.some(name => typeof (value as Record<string, unknown>)[name] === 'function');

const end = (what: Endable, error: unknown): void => {
  try {
    if ('destroy' in what) what.destroy(error);
    else if ('terminate' in what) what.terminate();
    else what.kill();
  } catch {
    // It has ended meanwhile.
  }
};

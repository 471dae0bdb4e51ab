import type {RecordedObject} from '#src/observe/flight-recorder.js';
import type {Plane} from '#src/plane/index.js';
import {historyOf} from '#src/recorder/history.js';
import {Recorder} from '#src/recorder/recorder.js';
import type {Clock} from '#src/base/clock.js';
import {historyText} from './history-text.js';

/** The most objects whose histories are told. */
const maxObjects = 3;

/** Notes which objects are requested by name until it is disposed of. */
export class ReadObjects implements Disposable {
  readonly #plane: {readonly clock: Clock} & Partial<Pick<Plane, 'recorder'>>;
  readonly #objects = new Map<string, RecordedObject>();
  readonly #intercepting: Disposable | undefined;

  constructor(plane: {readonly clock: Clock} & Partial<Pick<Plane, 'intercept' | 'recorder'>>) {
    this.#plane = plane;
    this.#intercepting = plane.intercept?.(({verb, group, resource, namespace, name}) => {
      const object = {group, resource, name, ...(namespace ? {namespace} : {})};
      if (verb === 'get' && this.#objects.size < maxObjects) this.#objects.set(`${group}/${resource}/${namespace}/${name}`, object);
      return undefined;
    });
  }

  /** Returns what happened to these objects, each from a line of its own on. */
  async history(): Promise<string> {
    const {recorder, clock} = this.#plane;
    if (!(recorder instanceof Recorder)) return '';
    const texts: string[] = [];
    for (const object of this.#objects.values()) {
      const {resource, namespace, name} = object;
      const records = await historyOf(object, recorder, clock);
      if (records.length > 0) texts.push(`\n${historyText(`${resource} ${namespace ? `${namespace}/` : ''}${name}`, records)}`);
    }
    return texts.join('');
  }

  [Symbol.dispose](): void {
    this.#intercepting?.[Symbol.dispose]();
  }
}

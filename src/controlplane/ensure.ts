import {unlessMissing} from '#src/client/missing.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ResourceClient} from '#src/client/client.js';

/** The required write; undefined for none. */
export type Step<T> = {readonly create: T} | {readonly update: T; readonly subresource?: string} | undefined;

export interface ObjectName {
  readonly name: string;
  readonly namespace?: string;
}

export const objectName = ({metadata: {name = '', namespace} = {}}: KubeObject): ObjectName => ({name, ...(namespace ? {namespace} : {})});

/**
 * How often a write is attempted. Each failure means that another server has written, which occurs a few times at most
 * during a start.
 */
const attempts = 20;

/** Whether a write failed because the object was written after it was read. */
const isWriteConflict = (error: unknown): boolean => isConflict(error) || isAlreadyExists(error) || isNotFound(error);

const current = <T extends KubeObject>(objects: ResourceClient<T>, {name, ...options}: ObjectName): Promise<T | undefined> =>
  unlessMissing(objects.get(name, options));

/**
 * Brings an object into the state that `decide` requires: reads it, decides what to write, and writes it. When another
 * server writes in between, it is read again and decided anew, so that servers that start together all succeed and none
 * reverts the write of another.
 */
export const ensureObject = async <T extends KubeObject>(
  objects: ResourceClient<T>,
  address: ObjectName,
  decide: (found: T | undefined) => Step<T> | Promise<Step<T>>,
): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    const step = await decide(await current(objects, address));
    if (!step) return;
    try {
      await ('create' in step
        ? objects.create(step.create)
        : objects.update(step.update, step.subresource ? {subresource: step.subresource} : {}));
      return;
    } catch (error) {
      if (attempt === attempts || !isWriteConflict(error)) throw error;
    }
  }
};

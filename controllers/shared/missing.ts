import {isNotFound} from '#src/api/status.js';

/** The answer to a call about an object, or undefined when there is no such object. */
export const unlessMissing = async <T>(call: Promise<T>): Promise<T | undefined> => {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

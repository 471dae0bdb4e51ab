import {isNotFound} from '#src/api/status.js';

/** Returns the response to a call about an object, or undefined if it is not found. */
export const unlessMissing = async <T>(call: Promise<T>): Promise<T | undefined> => {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

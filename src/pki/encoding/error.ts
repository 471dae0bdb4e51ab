import {messageOf} from '#src/base/message.js';
/**
 * Thrown by this folder for input that is malformed, unsupported or does not verify. The message may be shown to
 * clients.
 */
export class PkiError extends Error {
  override readonly name = 'PkiError';
}

/** Calls `read` and converts errors of other libraries to a `PkiError` with this message. */
export const withPkiErrors = <T>(message: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (error instanceof PkiError) throw error;
    throw new PkiError(message, {cause: error});
  }
};

/** Calls `act` and adds `prefix` to the message of its error. */
export const withMessagePrefix = <T>(prefix: string, act: () => T): T => {
  try {
    return act();
  } catch (error) {
    throw new PkiError(`${prefix}: ${messageOf(error)}`, {cause: error});
  }
};

import {messageOf} from '#src/base/message.js';
/** The one error this folder throws about input that is malformed, unsupported, or does not verify. Its message is fit to be shown to a caller. */
export class PkiError extends Error {
  override readonly name = 'PkiError';
}

/** Runs `read` and turns whatever else it throws (a key library's own errors) into a `PkiError` with the given message. */
export const withPkiErrors = <T>(message: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (error instanceof PkiError) throw error;
    throw new PkiError(message, {cause: error});
  }
};

/** Runs `act` and puts `prefix` before the message of a refusal. */
export const withMessagePrefix = <T>(prefix: string, act: () => T): T => {
  try {
    return act();
  } catch (error) {
    throw new PkiError(`${prefix}: ${messageOf(error)}`, {cause: error});
  }
};

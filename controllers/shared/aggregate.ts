import {messageOf} from '#src/base/message.js';

/** Combines failures into one error; undefined when there is none. The message lists each text once. */
export const aggregate = (errors: readonly unknown[]): Error | undefined => {
  if (errors.length === 0) return undefined;
  const messages = [...new Set(errors.map(messageOf))];
  return new AggregateError(errors, messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`);
};

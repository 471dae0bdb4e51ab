/** Resolves after everything else that waits for the event loop has had its turn: what works through much at once does so between pieces. */
export const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const waiting: (() => void)[] = [];

/**
 * Resolves in a turn of the event loop in which nobody else who waits here goes on. Who works through much does so between pieces of a few milliseconds:
 * however many do it at the same time, what else comes in waits for one piece.
 */
export const ownTurn = (): Promise<void> =>
  new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGoOn);
  });

const letOneGoOn = (): void => {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(letOneGoOn);
};

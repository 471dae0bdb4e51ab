/** Resolves after everything else that waits for the event loop has had its turn: what works through much at once does so between pieces. */
export const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

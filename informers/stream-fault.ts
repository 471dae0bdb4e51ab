import {StatusError} from '#src/api/status.js';

/** A fault of a list or watch that the server did not report as an error. */
export class StreamFault extends Error {
  override readonly name = 'StreamFault';
  readonly fault: 'silent' | 'short' | 'slow' | 'rewound' | 'unfinished';

  constructor(fault: StreamFault['fault'], message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Returns whether a watch failed because it ended at once, as it does when its collection is removed. */
export const isShort = (error: unknown): boolean => error instanceof StreamFault && error.fault === 'short';

/** Returns whether a failure is none that the server reported, and not the early end of a watch. */
export const isBrokenConnection = (error: unknown): boolean =>
  error instanceof StreamFault ? error.fault === 'silent' || error.fault === 'slow' : !(error instanceof StatusError);

import type {Fault} from './metrics.js';

/** A failure that is reported in a condition and an event already. */
export class Failed extends Error {
  readonly fault: Fault;

  constructor(message: string, fault: Fault, cause?: unknown) {
    super(message, {cause});
    this.fault = fault;
  }
}

// The form of the filters in `chain.ts`. A filter gets the handler of all filters after it and returns the one for
// those before it. It hands on the stage that it has brought a request to (`stages.ts`), and sees the answer on the way
// back.

import type {ApiResponse} from '#src/api/request.js';
import type {Eventually} from '#src/base/eventually.js';

/** A response, and the error that it was made of, if it was. */
export interface Answer {
  readonly response: ApiResponse;
  readonly error?: unknown;
}

/** Answers a request at one stage. Throws or rejects to refuse it, before the handler of the resource. */
export type Handle<Stage, Out = Answer> = (stage: Stage) => Eventually<Out>;

/** Surrounds the handler of the filters that follow. */
export type Filter<In, Out, To = Answer, From = To> = (next: Handle<Out, From>) => Handle<In, To>;

/** Filters in the order in which a request passes them. */
export class Filters<In, Out, To, From> {
  readonly #around: Filter<In, Out, To, From>;

  constructor(around: Filter<In, Out, To, From>) {
    this.#around = around;
  }

  through<Next, Inner>(filter: Filter<Out, Next, From, Inner>): Filters<In, Next, To, Inner> {
    return new Filters(next => this.#around(filter(next)));
  }

  /** Ends the chain. */
  to(handle: Handle<Out, From>): Handle<In, To> {
    return this.#around(handle);
  }
}

/** Adds nothing, where a filter is off. */
export const passThrough = <Stage, Out>(next: Handle<Stage, Out>): Handle<Stage, Out> => next;

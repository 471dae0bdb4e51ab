// The form of the filters in `chain.ts`. A filter gets the handler of all filters after it and returns the one for those before it. What it finds out of a
// request it adds to the stage that it hands on; what it adds to the answer it does on the way back.

import type {AuditNotes} from '#src/api/audit.js';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import type {Eventually} from '#src/base/eventually.js';
import type {LogFields} from '#src/base/log.js';
import type {AuditTrail} from '#src/apiserver/audit/trail.js';
import type {RequestTimes} from '#src/apiserver/request/context.js';
import type {RequestDeadline} from '#src/apiserver/request/deadline.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';

/** A request whose URL was understood. */
export interface Received {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly times: RequestTimes;
  /** The texts of `Warning` headers, in order, without duplicates. */
  readonly warnings: Set<string>;
  /** Headers that filters add to the answer, whether the request is served or refused. */
  readonly headers: Record<string, string>;
  /** What filters add to the line in the log of requests. */
  readonly logged: {flow?: () => LogFields};
  /** Absent without an audit log. */
  readonly trail?: AuditTrail;
}

/** A request with its deadlines. */
export interface Timed extends Received {
  readonly deadline: RequestDeadline;
}

/** A request whose user is known. */
export interface Identified extends Timed {
  readonly user: UserInfo;
  /** Takes what the request's audit events contain; undefined if there are none. */
  readonly notes: AuditNotes | undefined;
}

/** A request with a place among those in flight. */
export interface Entered extends Identified {
  readonly place: Disposable;
}

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
export const pass = <Stage, Out>(next: Handle<Stage, Out>): Handle<Stage, Out> => next;

// The stages of a request in the chain of filters. A filter can only read what those before it have found out: each
// stage has more than the one before, and is reached by the method of that one. All stages of a request are one object,
// since copies of it would cost more than the filters.

import type {AuditNotes} from '#src/api/audit.js';
import type {ApiRequest} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import type {LogFields} from '#src/base/log.js';
import type {AuditTrail} from '#src/apiserver/audit/trail.js';
import type {RequestTimes} from '#src/apiserver/request/context.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import {Warnings} from '#src/apiserver/request/warnings.js';

/** A request that has arrived. */
export interface Arrived {
  readonly request: ApiRequest;
  readonly auditId: string;
  readonly times: RequestTimes;
  /** The texts of `Warning` headers, in order, without duplicates. */
  readonly warnings: Set<string>;
  /** Headers that filters add to the answer, whether the request is served or refused. */
  readonly headers: Record<string, string>;
  /** What flow control adds to the line in the log of requests. */
  flowLogFields: (() => LogFields) | undefined;
  received(info: RequestInfo): Received;
}

/** A request whose URL was understood. */
export interface Received extends Arrived {
  readonly info: RequestInfo;
  /** Absent without an audit log. */
  trail: AuditTrail | undefined;
  timed(deadline: RequestDeadline): Timed;
}

/** The deadlines of a request. */
export interface RequestDeadline {
  /** The time limit in ms; undefined for long-running requests. */
  readonly ms: number | undefined;
  /**
   * By when the response must have been sent, by the monotonic clock; undefined for long-running requests and those in
   * process.
   */
  readonly endsAt: number | undefined;
  /** The deadline of outgoing calls, by the monotonic clock. */
  readonly callsEndAt: number;
  /** Called when the request was answered since its time is over, to end what still waits for its client. */
  onExpired(): void;
}

/** A request with its deadlines. */
export interface Timed extends Received {
  readonly deadline: RequestDeadline;
  identified(user: UserInfo, notes: AuditNotes | undefined): Identified;
}

/** A request whose user is known. */
export interface Identified extends Timed {
  readonly user: UserInfo;
  /** Takes what the request's audit events contain; undefined if there are none. */
  readonly notes: AuditNotes | undefined;
  entered(place: Disposable): Entered;
}

/** A request with a place among those in flight. */
export interface Entered extends Identified {
  readonly place: Disposable;
}

/** Begins the stages of a request. */
export const arrive = (request: ApiRequest, auditId: string, times: RequestTimes): Arrived => new Exchange(request, auditId, times);

class Exchange implements Entered {
  readonly request: ApiRequest;
  readonly auditId: string;
  readonly times: RequestTimes;
  readonly warnings = new Warnings();
  readonly headers: Record<string, string> = {};
  flowLogFields: (() => LogFields) | undefined = undefined;
  trail: AuditTrail | undefined = undefined;
  info!: RequestInfo;
  deadline!: RequestDeadline;
  user!: UserInfo;
  notes: AuditNotes | undefined = undefined;
  place!: Disposable;

  constructor(request: ApiRequest, auditId: string, times: RequestTimes) {
    this.request = request;
    this.auditId = auditId;
    this.times = times;
  }

  received(info: RequestInfo): Received {
    this.info = info;
    return this;
  }

  timed(deadline: RequestDeadline): Timed {
    this.deadline = deadline;
    return this;
  }

  identified(user: UserInfo, notes: AuditNotes | undefined): Identified {
    this.user = user;
    this.notes = notes;
    return this;
  }

  entered(place: Disposable): Entered {
    this.place = place;
    return this;
  }
}

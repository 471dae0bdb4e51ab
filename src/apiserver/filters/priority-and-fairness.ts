// Lets requests enter: by flow control, or within the limits of requests in flight where that is off.

import type {Naming} from '#src/api/naming.js';
import type {ApiRequest, ApiResponse, Delivery} from '#src/api/request.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import {andThen, settle} from '#src/base/eventually.js';
import type {LogFields} from '#src/base/log.js';
import {traced} from '#src/base/span.js';
import type {ActiveSchema} from '#src/apiserver/flowcontrol/classifier.js';
import type {FlowControl} from '#src/apiserver/flowcontrol/flow-control.js';
import type {InFlight} from '#src/apiserver/flowcontrol/in-flight.js';
import type {Place} from '#src/apiserver/flowcontrol/place.js';
import type {RequestTimes} from '#src/apiserver/request/context.js';
import {TooManyRequests} from '#src/apiserver/request/plain-refusal.js';
import {isLongRunning, type RequestInfo} from '#src/apiserver/request/request-info.js';
import {requestTimeout} from '#src/apiserver/request/timeout.js';
import {IncomingBody, type EnteredPlace, type IncomingBodies} from '#src/serving/limits/incoming-bodies.js';
import type {Filter} from './filter.js';
import type {Entered, Identified, RequestDeadline} from './stages.js';
import {noAttributes} from './tracing.js';

/** What limits requests. */
export interface RequestLimits {
  readonly inFlight: InFlight;
  /** Limits the requests that are executed at the same time; without it `inFlight` does. */
  readonly flowControl?: FlowControl | undefined;
  /** Requests whose body has not arrived yet; they do not count as in flight. */
  readonly bodies: IncomingBodies;
}

/**
 * Lets requests wait until flow control executes them, or counts them within the limits of requests in flight. Refuses
 * with 429 when there are too many. A request keeps its place until its response is sent.
 */
export const withPriorityAndFairness =
  (naming: Naming, limits: RequestLimits): Filter<Identified, Entered> =>
  next =>
  identified => {
    const entry = new Entry(limits, identified);
    identified.flowLogFields = () => entry.logFields;
    identified.deadline.onExpired = () => entry.stopReading();
    return settle(
      () => {
        const place = entry.enter();
        const {ready} = place;
        const waiting = limits.flowControl ? traced('priorityandfairness', noAttributes, () => ready) : ready;
        return andThen(waiting, () => next(identified.entered(place)));
      },
      answer => {
        entry.addHeaders(naming, answer.response.headers);
        entry.answered(answer);
        return answer;
      },
      error => {
        entry.addHeaders(naming, identified.headers);
        entry.leave();
        throw error;
      },
    );
  };

/** An authenticated request. */
interface Entering {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly times: RequestTimes;
  readonly deadline: RequestDeadline;
}

/** The handlers of these verbs do nothing for a resource before they have read the body. */
const readingBody: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

const longestName = 64;

/** The entry of one request, and how flow control classified it. */
class Entry {
  readonly #limits: RequestLimits;
  readonly #entering: Entering;
  /** Absent without flow control, and for requests that it does not limit. */
  #schema: ActiveSchema | undefined;
  #seats: Place | undefined;
  #place: EnteredPlace | undefined;

  constructor(limits: RequestLimits, entering: Entering) {
    this.#limits = limits;
    this.#entering = entering;
  }

  /**
   * Enters the request. The place may be taken later, when its body is complete. Throws 429 when there are too many
   * requests.
   */
  enter(): EnteredPlace {
    const {flowControl} = this.#limits;
    return (this.#place = flowControl ? this.#enterFlow(flowControl) : this.#enterInFlight());
  }

  /** Keeps the request in flight until its response is sent, where sending takes time. */
  answered({response, error}: {readonly response: ApiResponse; readonly error?: unknown}): void {
    const {request, user, deadline} = this.#entering;
    const place = this.#place!;
    if (error !== undefined) this.leave();
    else if (response.body.kind === 'watch') releaseWhenInitialized(request, place);
    else if (request.sendsBytes && deadline.endsAt !== undefined) response.delivery = new Sending(deadline.endsAt, user.name, place);
    else place[Symbol.dispose]();
  }

  /** Ends a request that was refused. */
  leave(): void {
    this.#place?.[Symbol.dispose]();
    this.stopReading();
  }

  /** Ends the reading of the body after the request was answered. */
  stopReading(): void {
    if (this.#place instanceof IncomingBody) this.#place.stop(requestTimeout());
  }

  /**
   * Adds the headers that show how the request was classified. Names are not shown, since they reveal how requests are
   * ranked.
   */
  addHeaders({flowControlHeaders}: Naming, headers: Record<string, string | string[]>): void {
    const schema = this.#schema;
    if (!schema) return;
    headers[flowControlHeaders.flowSchema] = schema.uid;
    headers[flowControlHeaders.priorityLevel] = schema.level.uid;
  }

  /** What the log of requests contains of flow control. */
  get logFields(): LogFields {
    const schema = this.#schema;
    if (!schema) return {};
    return {apf_pl: schema.level.name.slice(0, longestName), apf_fs: schema.name.slice(0, longestName), ...this.#seats?.logFields};
  }

  #enterFlow(flowControl: FlowControl): EnteredPlace {
    const {request, info, user, times, deadline} = this.#entering;
    // Of long-running requests only the start of watches is limited.
    if (info.verb !== 'watch' && isLongRunning(info)) return noPlace;
    const schema = (this.#schema = flowControl.schemaOf(user, info));
    const enter = () => (this.#seats = flowControl.enter({schema, user, info, request, times, deadlineMs: deadline.ms}));
    if (request.inProcess || !info.resource || !readingBody.has(info.verb)) return enter();
    const {body} = request;
    return body?.kind === 'bytes' ? this.#limits.bodies.follow(body, {user: user.name, enter}) : enter();
  }

  #enterInFlight(): EnteredPlace {
    const {request, info, user} = this.#entering;
    const isExempt = request.inProcess === true || user.groups.includes(wellKnown.masters);
    const enter = () => {
      const place = this.#limits.inFlight.enter(info, isExempt);
      if (!place) throw new TooManyRequests();
      return place;
    };
    const place = enter();
    const {body} = request.inProcess || isLongRunning(info) ? {} : request;
    return body?.kind === 'bytes' ? this.#limits.bodies.follow(body, {user: user.name, place, enter}) : place;
  }
}

const noPlace: Disposable = {[Symbol.dispose]() {}};

/** The sending of a response whose request stays in flight until it ends. */
class Sending implements Delivery {
  readonly endsAt: number;
  readonly flow: string;
  #place: Disposable | undefined;

  constructor(endsAt: number, flow: string, place: Disposable) {
    this.endsAt = endsAt;
    this.flow = flow;
    this.#place = place;
  }

  [Symbol.dispose](): void {
    this.#place?.[Symbol.dispose]();
    this.#place = undefined;
  }
}

/** Ends the place of a watch that its client leaves before it was initialized; the watch itself ends it then. */
const releaseWhenInitialized = ({signal}: Pick<ApiRequest, 'signal'>, place: Disposable): void => {
  const release = () => place[Symbol.dispose]();
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, {once: true});
};

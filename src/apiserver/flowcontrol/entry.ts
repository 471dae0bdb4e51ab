// The entry of requests: by flow control, or within the limits of requests in flight where that is off.

import type {Naming} from '#src/api/naming.js';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import type {LogFields} from '#src/base/log.js';
import type {ActiveSchema} from './classifier.js';
import type {FlowControl} from './flow-control.js';
import type {Place} from './place.js';
import type {RequestTimes} from '#src/apiserver/request/context.js';
import type {InFlight} from './in-flight.js';
import type {EnteredPlace, IncomingBodies} from '#src/serving/limits/incoming-bodies.js';
import {TooManyRequests} from '#src/apiserver/request/plain-refusal.js';
import {isLongRunning, type RequestInfo} from '#src/apiserver/request/request-info.js';

/** What limits requests. */
interface Limits {
  readonly inFlight: InFlight;
  readonly flowControl?: FlowControl | undefined;
  readonly bodies: IncomingBodies;
}

/** An authenticated request. */
interface Entering {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
}

/** How a request was classified and entered. */
export interface Entry {
  readonly times: RequestTimes;
  /** The time limit of the request; undefined for long-running ones. */
  readonly deadlineMs: number | undefined;
  /** Absent without flow control, and for requests that it does not limit. */
  schema: ActiveSchema | undefined;
  seats: Place | undefined;
}

/** Enters a request. The place may be taken later, when its body is complete. Throws 429 when there are too many requests. */
export const enterRequest = (limits: Limits, entering: Entering, entry: Entry): EnteredPlace =>
  limits.flowControl ? enterFlow(limits.flowControl, limits.bodies, entering, entry) : enterInFlight(limits, entering);

/** The handlers of these verbs do nothing for a resource before they have read the body. */
const readingBody: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

const enterFlow = (flowControl: FlowControl, bodies: IncomingBodies, {request, info, user}: Entering, entry: Entry): EnteredPlace => {
  // Of long-running requests only the start of watches is limited.
  if (info.verb !== 'watch' && isLongRunning(info)) return noPlace;
  const schema = (entry.schema = flowControl.schemaOf(user, info));
  const {times, deadlineMs} = entry;
  const enter = () => (entry.seats = flowControl.enter({schema, user, info, request, times, deadlineMs}));
  if (request.inProcess || !info.resource || !readingBody.has(info.verb)) return enter();
  const {body} = request;
  return body?.kind === 'bytes' ? bodies.follow(body, {user: user.name, enter}) : enter();
};

const enterInFlight = ({inFlight, bodies}: Limits, {request, info, user}: Entering): EnteredPlace => {
  const isExempt = request.inProcess === true || user.groups.includes(wellKnown.masters);
  const enter = () => {
    const place = inFlight.enter(info, isExempt);
    if (!place) throw new TooManyRequests();
    return place;
  };
  const place = enter();
  const {body} = request.inProcess || isLongRunning(info) ? {} : request;
  return body?.kind === 'bytes' ? bodies.follow(body, {user: user.name, place, enter}) : place;
};

const noPlace: Disposable = {[Symbol.dispose]() {}};

/** Adds the headers that show how a request was classified, whether it was served or refused. Names are not shown, since they reveal how requests are ranked. */
export const flowHeaders = ({flowControlHeaders}: Naming, {headers}: ApiResponse, {schema}: Entry): void => {
  if (!schema) return;
  headers[flowControlHeaders.flowSchema] = schema.uid;
  headers[flowControlHeaders.priorityLevel] = schema.level.uid;
};

const longestName = 64;

/** What the log of requests contains of flow control. */
export const flowLogFields = ({schema, seats}: Entry): LogFields =>
  schema ? {apf_pl: schema.level.name.slice(0, longestName), apf_fs: schema.name.slice(0, longestName), ...seats?.logFields} : {};

/** Ends the place of a watch that its client leaves before it was initialized; the watch itself ends it then. */
export const releaseWhenInitialized = ({signal}: Pick<ApiRequest, 'signal'>, place: Disposable): void => {
  const release = () => place[Symbol.dispose]();
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, {once: true});
};

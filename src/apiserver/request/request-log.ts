import {formatDuration} from '#src/api/duration.js';
import type {ApiRequest, ApiResponse} from '#src/api/exchange.js';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {header} from './context.js';
import type {RequestInfo} from './request-info.js';

/** What is told of a text that a caller chose. */
const [longestUri, longestAgent, longestAuditId] = [2048, 256, 64];

const verbOf = ({method}: ApiRequest, info: RequestInfo | undefined): string => (info?.verb === 'list' || info?.verb === 'watch' ? info.verb.toUpperCase() : method);

/** Tells of an answer, whose request came in at `startedAt` on the monotonic clock. */
export type RequestLog = (request: ApiRequest, info: RequestInfo | undefined, answer: {readonly response: ApiResponse; readonly auditId: string; readonly startedAt: number}) => void;

/** Writes a line for every answer at verbosity 3; `--vmodule=httplog=3` asks for these alone. A watch is told of when it begins. */
export const requestLog = (log: Log, clock: Clock): RequestLog => {
  const lines = log.child({component: 'httplog'});
  return (request, info, {response, auditId, startedAt}) => {
    const told = lines.v(3);
    if (told === noLog) return;
    const latency = formatDuration(Math.round((clock.monotonic() - startedAt) * 1000) / 1000);
    const userAgent = (header(request, 'user-agent') ?? '').slice(0, longestAgent);
    told.info({verb: verbOf(request, info), URI: request.url.slice(0, longestUri), latency, userAgent, 'audit-ID': auditId.slice(0, longestAuditId), srcIP: request.remoteAddress, resp: response.status}, 'HTTP');
  };
};

import {AgentError, type LogQuery, type LogStream} from '#src/api/node/agent.js';
import {parseTime} from '#src/api/time.js';

const undecoded = (): AgentError => new AgentError(400, JSON.stringify({message: 'Unable to decode query.'}));
const invalid = (): AgentError => new AgentError(422, JSON.stringify({message: 'Invalid request.'}));

const flag = (query: URLSearchParams, name: string): boolean => {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
};

const wholeNumber = (query: URLSearchParams, name: string, least: number): number | undefined => {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d{1,18}$/.test(text)) throw undecoded();
  if (Number(text) < least) throw invalid();
  return Number(text);
};

/** The time from which lines are requested, in ms since the epoch. */
const sinceOf = (query: URLSearchParams, now: number): number | undefined => {
  const seconds = wholeNumber(query, 'sinceSeconds', 1);
  const text = query.get('sinceTime');
  if (text === null) return seconds === undefined ? undefined : now - seconds * 1000;
  if (seconds !== undefined) throw invalid();
  const time = parseTime(text);
  if (time === undefined) throw undecoded();
  return time;
};

const streams: readonly LogStream[] = ['All', 'Stdout', 'Stderr'];

const streamOf = (query: URLSearchParams, tailLines: number | undefined): LogStream => {
  const requested = query.get('stream') ?? 'All';
  const found = streams.find(stream => stream === requested);
  if (!found || (found !== 'All' && tailLines !== undefined)) throw invalid();
  return found;
};

const given = <K extends string, T>(name: K, value: T | undefined): Partial<Record<K, T>> =>
  value === undefined ? {} : ({[name]: value} as Record<K, T>);

/** The requested part of a log. Throws the agent's refusal if it is invalid. */
export const logQueryOf = (query: URLSearchParams, now: number): LogQuery => {
  // The older parameter, which may be `all`.
  const tailName = query.has('tail') && query.get('tail') !== 'all' ? 'tail' : 'tailLines';
  const tailLines = wholeNumber(query, tailName, 0);
  return {
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    stream: streamOf(query, tailLines),
    ...given('since', sinceOf(query, now)),
    ...given('tailLines', tailLines),
    ...given('limitBytes', wholeNumber(query, 'limitBytes', 1)),
  };
};

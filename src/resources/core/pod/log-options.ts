import {forbiddenField, invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import type {ConnectOption, ConnectOptions} from '#src/resources/definition.js';
import {negativeText} from '#src/resources/validation/values.js';

const streams = ['All', 'Stderr', 'Stdout'];
const positiveText = 'must be greater than 0';

/** The options of the log subresource. */
export const logFields: readonly ConnectOption[] = [
  {name: 'container', type: 'string', description: 'The container whose log is wanted; the only one where there is but one.'},
  {name: 'follow', type: 'boolean', description: 'Goes on with what is written from now on.'},
  {name: 'insecureSkipTLSVerifyBackend', type: 'boolean', description: 'Does not verify the serving certificate of the agent of the node.'},
  {name: 'limitBytes', type: 'integer', description: 'The most bytes to answer with.'},
  {name: 'previous', type: 'boolean', description: 'The log of the container that ran before.'},
  {name: 'sinceSeconds', type: 'integer', description: 'Only what is younger than so many seconds.'},
  {name: 'sinceTime', type: 'time', description: 'Only what was written since.'},
  {name: 'stream', type: 'string', description: 'Which stream of the container: All, Stdout or Stderr.'},
  {name: 'tailLines', type: 'integer', description: 'Only so many lines from the end.'},
  {name: 'timestamps', type: 'boolean', description: 'Begins every line with its time.'},
];

/** Validates log options. Streams can be selected only with the gate `PodLogsQuerySplitStreams`. */
export function* validateLogOptions(
  {tailLines, limitBytes, sinceSeconds, sinceTime, stream}: ConnectOptions,
  {gate}: {gate(name: string): boolean},
): Iterable<FieldError> {
  if (Number(tailLines) < 0) yield invalid('tailLines', tailLines, negativeText);
  if (Number(limitBytes) < 1) yield invalid('limitBytes', limitBytes, positiveText);
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    yield forbiddenField('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified');
  else if (Number(sinceSeconds) < 1) yield invalid('sinceSeconds', sinceSeconds, positiveText);
  if (stream === undefined) return;
  if (!gate('PodLogsQuerySplitStreams')) yield forbiddenField('stream', 'may not be specified');
  else {
    if (!streams.includes(String(stream))) yield notSupported('stream', stream, streams);
    if (stream !== 'All' && tailLines !== undefined)
      yield forbiddenField('[]', '`tailLines` and specific `stream` are mutually exclusive for now');
  }
}

/** Returns the query for the same log at the node's agent, sorted by name. */
export const logQuery = (options: ConnectOptions, {gate}: {gate(name: string): boolean}): string => {
  const requested: ConnectOptions = gate('PodLogsQuerySplitStreams') ? {stream: 'All', ...options} : options;
  const query = new URLSearchParams();
  for (const {name} of logFields) {
    const value = requested[name];
    if (name !== 'container' && name !== 'insecureSkipTLSVerifyBackend' && value !== undefined && value !== false)
      query.set(name, String(value));
  }
  return query.size > 0 ? `?${query.toString()}` : '';
};

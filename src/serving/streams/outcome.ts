import {StatusError, success, type Status} from '#src/api/status.js';

/** The reason of a command that ended with a non-zero exit code. */
export const nonZeroExitCode = 'NonZeroExitCode';

/**
 * The result of a command from the agent's final message: empty for success. `structured` messages are a `Status`,
 * others a text. Throws if the command itself could not run.
 */
export const outcome = (text: string, structured: boolean): Status => {
  if (text === '') return ended;
  if (!structured) throw new Error(`error executing remote command: ${text}`);
  const status = statusIn(text);
  if (status.status === 'Success') return ended;
  if (status.status !== 'Failure') throw new Error('error stream protocol error: unknown error');
  if (status.reason !== nonZeroExitCode) throw new Error(status.message ?? '');
  throw new StatusError(exit(codeOf(status)));
};

const ended: Status = success();

const statusIn = (text: string): Status => {
  try {
    return JSON.parse(text) as Status;
  } catch (cause) {
    throw new Error(`error stream protocol error: ${(cause as Error).message} in ${JSON.stringify(text)}`, {cause});
  }
};

const codeOf = ({details}: Status): number => {
  if (!details) throw new Error('error stream protocol error: details must be set');
  const cause = details.causes?.find(({reason}) => reason === 'ExitCode');
  if (!cause) throw new Error('error stream protocol error: no ExitCode cause given');
  const text = cause.message ?? '';
  if (!/^\d+$/.test(text) || Number(text) > 255)
    throw new Error(`error stream protocol error: invalid exit code value ${JSON.stringify(text)}`);
  return Number(text);
};

const exit = (code: number): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `command terminated with non-zero exit code: command terminated with exit code ${code}`,
  reason: nonZeroExitCode,
  details: {causes: [{reason: 'ExitCode', message: String(code)}]},
});

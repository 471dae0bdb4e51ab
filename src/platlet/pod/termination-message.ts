// The termination message of a container.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer} from '#src/api/pod.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';

/** The limits of a message from the file, of one from the log, and of all messages of a pod, in bytes. */
export const messageLimits = {file: 4096, log: 2048, logLines: 80, pod: 12 * 1024} as const;

/** Truncates a text to a number of bytes, from the beginning or from the end, without splitting characters. */
const cut = (text: string, bytes: number, part: 'start' | 'end'): string => {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  const isContinuation = (at: number): boolean => (all[at]! & 0xc0) === 0x80;
  if (part === 'start') {
    let end = bytes;
    while (end > 0 && isContinuation(end)) end--;
    return all.toString('utf8', 0, end);
  }
  let begin = all.length - bytes;
  while (begin < all.length && isContinuation(begin)) begin++;
  return all.toString('utf8', begin);
};

/** Whether the message of a run falls back to the log. */
export const wantsLog = (
  {terminationMessagePolicy: policy}: Frozen<AnyContainer>,
  {exitCode, reason}: ContainerInstance,
  file: string,
): boolean => policy === 'FallbackToLogsOnError' && file === '' && (exitCode !== 0 || reason === 'OOMKilled');

/** Returns the message of a run from its file or from the tail of its log, prefixed with the message of the runtime. */
export const terminationMessage = (
  {message: said = ''}: Pick<ContainerInstance, 'message'>,
  file: string,
  logTail: string | undefined,
): string => {
  const own =
    cut(file, messageLimits.file, 'start') ||
    cut(
      (logTail ?? '')
        .split('\n')
        .slice(-messageLimits.logLines - 1)
        .join('\n'),
      messageLimits.log,
      'end',
    );
  return said && own ? `${said}: ${own}` : said || own;
};

/** Truncates a message so that those of all containers stay within the limit of the pod. */
export const limitedMessage = (message: string, containers: number): string =>
  cut(message, Math.floor(messageLimits.pod / Math.max(1, containers)), 'start');

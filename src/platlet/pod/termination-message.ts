// The message that a container leaves when it ends.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer} from '#src/api/pod.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';

/** The limits of a message from the file, of one from the log, and of all messages of a pod together, in bytes. */
export const messageLimits = {file: 4096, log: 2048, logLines: 80, pod: 12 * 1024} as const;

/** Cuts a text to a number of bytes: its beginning, or its end. Characters stay whole. */
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

/** Whether the end of the log is wanted as the message of a run. */
export const wantsLog = (
  {terminationMessagePolicy: policy}: Frozen<AnyContainer>,
  {exitCode, reason}: ContainerInstance,
  file: string,
): boolean => policy === 'FallbackToLogsOnError' && file === '' && (exitCode !== 0 || reason === 'OOMKilled');

/**
 * Returns the message of a run from the content of its file, or from the end of its log, with what the runtime says
 * before it.
 */
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

/** Cuts the messages of a pod's containers so that all together stay within the limit. */
export const limitedMessage = (message: string, containers: number): string =>
  cut(message, Math.floor(messageLimits.pod / Math.max(1, containers)), 'start');

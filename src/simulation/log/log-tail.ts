import {linesFrom, positionOfLast, type RunLog} from './lines.js';

const maxLines = 80;
const maxBytes = 2048;

/** Returns the end of a log, within the size limits of a termination message. */
export const logTail = (log: RunLog, until: number): string => {
  let text = '';
  for (const line of linesFrom(log, positionOfLast(log, maxLines, until), until)) text += `${line.text}\n`;
  return Buffer.from(text).subarray(-maxBytes).toString();
};

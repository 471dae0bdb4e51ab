import {linesFrom, positionOfLast, type RunLog} from './lines.js';

const maxLines = 80;
const maxBytes = 2048;

/** The end of a log, as long as a termination message may be that is taken from it. */
export const logTail = (log: RunLog, until: number): string => {
  let text = '';
  for (const line of linesFrom(log, positionOfLast(log, maxLines, until), until)) text += `${line.text}\n`;
  return Buffer.from(text).subarray(-maxBytes).toString();
};

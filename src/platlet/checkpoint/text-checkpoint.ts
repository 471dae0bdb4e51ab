// Checkpoints of which the data is a text, with its checksum beside it. Pure.

import {fnv1a} from '#src/base/text/fnv.js';
import {corrupted} from './fields.js';

/** Returns the checksum of a text, as the original computes it of strings. */
export const checksumOf = (text: string): number => fnv1a(`(string)${text}`);

/** Returns the content of a checkpoint of which the data is a text. */
export const formatCheckpoint = (data: string): string => JSON.stringify({data, checksum: checksumOf(data)});

/** Returns the data of a checkpoint. Throws if it is damaged. */
export const parseCheckpoint = (content: string): string => {
  const {data, checksum} = JSON.parse(content) as {readonly data?: unknown; readonly checksum?: unknown};
  if (typeof data !== 'string' || checksum !== checksumOf(data)) throw corrupted();
  return data;
};

/**
 * How records lie in a store that others read, too: its bytes are theirs, not this server's own. Neither direction may change what it is given; both throw for what they cannot read.
 */
export interface RecordEncoding {
  /** The record of what lies under the key. */
  decode(key: string, bytes: Buffer): Buffer;
  /** What is put under the key for a record. */
  encode(key: string, record: Buffer): Buffer;
}

/** Records as they are. */
export const plainEncoding: RecordEncoding = {decode: (_, bytes) => bytes, encode: (_, record) => record};

/**
 * Encodes records for a store shared with other API servers. Neither direction modifies its input; both throw for
 * records they cannot read.
 */
export interface RecordEncoding {
  /** Returns the record of stored bytes. */
  decode(key: string, bytes: Buffer): Buffer;
  /** Returns the bytes to store for a record. */
  encode(key: string, record: Buffer): Buffer;
}

/**
 * The maximum size of a record: that of a request body. Longer ones are refused before they are encoded; the servers'
 * limit for encoded records may be lower.
 */
export const longestRecord = 3 << 20;

/** Stores records unchanged. */
export const plainEncoding: RecordEncoding = {decode: (_, bytes) => bytes, encode: (_, record) => record};

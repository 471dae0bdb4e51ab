/**
 * Encodes records for a store shared with other API servers. Neither direction modifies its input; both throw for records they cannot read.
 */
export interface RecordEncoding {
  /** Returns the record of stored bytes. */
  decode(key: string, bytes: Buffer): Buffer;
  /** Returns the bytes to store for a record. */
  encode(key: string, record: Buffer): Buffer;
}

/** Stores records unchanged. */
export const plainEncoding: RecordEncoding = {decode: (_, bytes) => bytes, encode: (_, record) => record};

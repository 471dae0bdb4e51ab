import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';

/** A key-value pair of etcd; `lease` is zero for one without a lease. */
export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  readonly created: number;
  readonly revision: number;
  /** How often the key was written since its creation. */
  readonly version: number;
  readonly lease: number;
}

const keyValue = (bytes: Buffer): KeyValue => {
  const kv: {-readonly [name in keyof KeyValue]: KeyValue[name]} = {
    key: '',
    value: Buffer.alloc(0),
    created: 0,
    revision: 0,
    version: 0,
    lease: 0,
  };
  readMessage(bytes, {
    1: field => (kv.key = field.text),
    2: field => (kv.created = field.int),
    3: field => (kv.revision = field.int),
    4: field => (kv.version = field.int),
    5: field => (kv.value = field.bytes),
    6: field => (kv.lease = field.int),
  });
  return kv;
};

/** The part of a response's header that identifies the history. */
export interface ResponseHeader {
  /** The cluster's id, rounded to a double. */
  readonly cluster: number;
  /** The newest revision. */
  readonly revision: number;
}

const noHeader: ResponseHeader = {cluster: 0, revision: 0};

const headerOf = (bytes: Buffer): ResponseHeader => {
  const header = {cluster: 0, revision: 0};
  readMessage(bytes, {1: field => (header.cluster = field.int), 3: field => (header.revision = field.int)});
  return header;
};

export interface RangeRequest {
  readonly start: string;
  /** Absent for one key alone. */
  readonly end?: string;
  /** Zero or absent for all. */
  readonly limit?: number;
  readonly revision?: number;
  readonly countOnly?: boolean;
}

/** Reads only the newest revision, with a key that no store writes. */
export const newest: RangeRequest = {start: '\0', countOnly: true};

export interface RangeResponse extends ResponseHeader {
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

const rangeMessage = ({start, end = '', limit = 0, revision = 0, countOnly = false}: RangeRequest): MessageWriter =>
  new MessageWriter().bytes(1, start).bytes(2, end).int(3, limit).int(4, revision).flag(9, countOnly);

export const encodeRange = (request: RangeRequest): Buffer => rangeMessage(request).finish();

export const decodeRange = (bytes: Buffer): RangeResponse => {
  const kvs: KeyValue[] = [];
  const rest = {more: false, count: 0};
  let header = noHeader;
  readMessage(bytes, {
    1: field => (header = headerOf(field.bytes)),
    2: field => kvs.push(keyValue(field.bytes)),
    3: field => (rest.more = field.flag),
    4: field => (rest.count = field.int),
  });
  return {...header, kvs, ...rest};
};

/** What a transaction does with its key if the comparison holds. */
export type Operation = {readonly put: Buffer; readonly lease?: number | undefined} | 'delete' | 'get';

export interface TxnRequest {
  readonly key: string;
  /**
   * What is compared with what the key is expected to have: the revision of its last write (zero for a key that is not
   * there) or how often it was written.
   */
  readonly expected: {readonly revision: number} | {readonly version: number};
  readonly apply: Operation;
  readonly otherwise?: 'get';
}

export interface TxnResponse extends ResponseHeader {
  readonly succeeded: boolean;
  /** What was read after a failed comparison, if that was requested. */
  readonly found: KeyValue | undefined;
}

const operation = (key: string, op: Operation): MessageWriter => {
  if (op === 'get') return new MessageWriter().message(1, rangeMessage({start: key}));
  if (op === 'delete') return new MessageWriter().message(3, new MessageWriter().bytes(1, key));
  return new MessageWriter().message(
    2,
    new MessageWriter()
      .bytes(1, key)
      .bytes(2, op.put)
      .int(3, op.lease ?? 0),
  );
};

export const encodeTxn = ({key, expected, apply, otherwise}: TxnRequest): Buffer => {
  const txn = new MessageWriter().message(1, comparison(key, expected)).message(2, operation(key, apply));
  if (otherwise) txn.message(3, operation(key, otherwise));
  return txn.finish();
};

/**
 * Compares for equality. Targets are 0 for versions and 2 for revisions of the last write; the expected number must be
 * sent even if it is zero.
 */
const comparison = (key: string, expected: TxnRequest['expected']): MessageWriter =>
  'version' in expected
    ? new MessageWriter().bytes(3, key).present(4, expected.version)
    : new MessageWriter().int(2, 2).bytes(3, key).present(6, expected.revision);

export const decodeTxn = (bytes: Buffer): TxnResponse => {
  let succeeded = false;
  let header = noHeader;
  let found: KeyValue | undefined;
  readMessage(bytes, {
    1: field => (header = headerOf(field.bytes)),
    2: field => (succeeded = field.flag),
    3: field => readMessage(field.bytes, {1: range => void (found = decodeRange(range.bytes).kvs[0])}),
  });
  return {...header, succeeded, found};
};

export interface WatchRequest {
  readonly start: string;
  readonly end?: string;
  readonly from: number;
}

export const encodeWatch = ({start, end = '', from}: WatchRequest): Buffer =>
  new MessageWriter().message(1, new MessageWriter().bytes(1, start).bytes(2, end).int(3, from)).finish();

export interface WatchResponse {
  readonly header: ResponseHeader;
  readonly events: readonly {readonly isDeletion: boolean; readonly kv: KeyValue}[];
  readonly created: boolean;
  readonly canceled: boolean;
  /** The compacted revision, if the watch ended because of it. */
  readonly compacted: number;
  readonly reason: string;
}

export const decodeWatch = (bytes: Buffer): WatchResponse => {
  const events: {isDeletion: boolean; kv: KeyValue}[] = [];
  const rest = {created: false, canceled: false, compacted: 0, reason: ''};
  let header = noHeader;
  readMessage(bytes, {
    1: field => (header = headerOf(field.bytes)),
    3: field => (rest.created = field.flag),
    4: field => (rest.canceled = field.flag),
    5: field => (rest.compacted = field.int),
    6: field => (rest.reason = field.text),
    11: field => {
      let isDeletion = false;
      let kv: KeyValue | undefined;
      readMessage(field.bytes, {1: type => (isDeletion = type.int === 1), 2: part => (kv = keyValue(part.bytes))});
      if (kv) events.push({isDeletion, kv});
    },
  });
  return {header, events, ...rest};
};

export const encodeCompaction = (revision: number): Buffer => new MessageWriter().int(1, revision).finish();

export const encodeLease = (seconds: number, id: number): Buffer => new MessageWriter().int(1, seconds).int(2, id).finish();

export const encodeTimeToLive = (id: number): Buffer => new MessageWriter().int(1, id).finish();

/**
 * Returns the remaining time of a lease in seconds. One that has ended has -1, which does not fit into a safe integer
 * here.
 */
export const decodeTimeToLive = (bytes: Buffer): number => {
  let seconds = 0;
  readMessage(bytes, {3: field => (seconds = Number.isSafeInteger(field.int) ? field.int : 0)});
  return seconds;
};

/** The size of the store in bytes, from its status. */
export const decodeSize = (bytes: Buffer): number => {
  let size = 0;
  readMessage(bytes, {3: field => (size = field.int)});
  return size;
};

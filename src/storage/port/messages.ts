import {Compacted, FutureRevision, KeyExists, LeaseNotFound, RevisionMismatch, StoreClosed, ValueTooLarge} from '#src/storage/errors.js';
import type {Change, RangeQuery, ReadOptions, Store, StoredRecord, WatchQuery, WriteOptions} from '#src/storage/store.js';

/** The calls of a store that are answered once, with their arguments. */
export interface StoreCalls {
  revision: [];
  get: [key: string, options?: ReadOptions];
  range: [query: Omit<RangeQuery, 'filter'>];
  count: [start: string, end: string];
  create: [key: string, value: Uint8Array, options?: WriteOptions];
  update: [key: string, value: Uint8Array, expected: number, options?: WriteOptions];
  delete: [key: string, expected: number];
  compacted: [];
  lease: [seconds: number];
  size: [];
}

export type StoreCall = keyof StoreCalls;

/** What a store's user in another thread sends. */
export type ToStore =
  | {readonly [Name in StoreCall]: {readonly kind: 'call'; readonly id: number; readonly name: Name; readonly args: StoreCalls[Name]}}[StoreCall]
  | {readonly kind: 'watch'; readonly id: number; readonly query: WatchQuery; readonly wantsProgress: boolean}
  | {readonly kind: 'unwatch'; readonly id: number}
  /** Changes of so many bytes were received, and others may follow. */
  | {readonly kind: 'received'; readonly id: number; readonly bytes: number};

/** What the thread that has the store sends. */
export type FromStore =
  | {readonly kind: 'answer'; readonly id: number; readonly value: unknown}
  | {readonly kind: 'failure'; readonly id: number; readonly error: PlainError}
  | {readonly kind: 'changes'; readonly id: number; readonly batch: readonly Change[]; readonly bytes: number}
  | {readonly kind: 'progress'; readonly id: number; readonly revision: number}
  | {readonly kind: 'ended'; readonly id: number; readonly error: PlainError | undefined};

/** An error as a message can carry it. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  /** The revision that the error speaks of. */
  readonly revision?: number;
}

export const plainError = (error: unknown): PlainError => {
  const {name, message} = error instanceof Error ? error : new Error(String(error));
  if (error instanceof Compacted) return {name, message, revision: error.compacted};
  return error instanceof FutureRevision ? {name, message, revision: error.current} : {name, message};
};

const errorsByName: Readonly<Record<string, (error: PlainError) => Error>> = {
  KeyExists: ({message}) => new KeyExists(message),
  RevisionMismatch: ({message}) => new RevisionMismatch(message),
  LeaseNotFound: ({message}) => new LeaseNotFound(message),
  StoreClosed: () => new StoreClosed(),
  Compacted: ({revision = 0}) => new Compacted(revision),
  FutureRevision: ({revision = 0}) => new FutureRevision(revision),
  TypeError: ({message}) => new TypeError(message),
  RangeError: ({message}) => new RangeError(message),
  ValueTooLarge: ({message}) => Object.assign(new ValueTooLarge(0), {message}),
};

/** The error again, of the store's own classes where it was of one. */
export const errorOf = (error: PlainError): Error => (Object.hasOwn(errorsByName, error.name) ? errorsByName[error.name]!(error) : new Error(error.message));

/** A record that can be sent: its bytes alone, not the larger memory that they may be a part of. */
export const sendable = (record: StoredRecord): StoredRecord => ({...record, value: new Uint8Array(record.value) as Buffer});

/** A record as it was received, with a Buffer again. */
export const received = (record: StoredRecord): StoredRecord => ({...record, value: bufferOf(record.value)});

export const bufferOf = ({buffer, byteOffset, byteLength}: Uint8Array): Buffer => Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

export type CallResult<Name extends StoreCall> = Awaited<ReturnType<Store[Name]>>;

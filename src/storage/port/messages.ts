import {
  Compacted,
  FutureRevision,
  KeyExists,
  LeaseNotFound,
  RevisionMismatch,
  StoreClosed,
  StoreFull,
  StoreTimeout,
  ValueTooLarge,
  ValueUnreadable,
} from '#src/storage/errors.js';
import type {Change, RangeQuery, ReadOptions, Store, StoredRecord, WatchQuery, WriteOptions} from '#src/storage/store.js';

/** Write options for posting. */
export type SentWriteOptions = Omit<WriteOptions, 'encoded'> & {readonly encoded?: Uint8Array};

/** The calls of a store with one reply, by name, with their arguments. */
export interface StoreCalls {
  revision: [key?: string];
  get: [key: string, options?: ReadOptions];
  range: [query: Omit<RangeQuery, 'filter'>];
  count: [start: string, end: string, revision?: number];
  create: [key: string, value: Uint8Array, options?: SentWriteOptions];
  update: [key: string, value: Uint8Array, expected: number, options?: SentWriteOptions];
  delete: [key: string, expected: number];
  compacted: [];
  lease: [seconds: number, key?: string];
  size: [];
}

export type StoreCall = keyof StoreCalls;

/** Messages to the thread that owns the store. */
export type ToStore =
  | {
      readonly [Name in StoreCall]: {readonly kind: 'call'; readonly id: number; readonly name: Name; readonly args: StoreCalls[Name]};
    }[StoreCall]
  | {readonly kind: 'watch'; readonly id: number; readonly query: WatchQuery; readonly wantsProgress: boolean}
  | {readonly kind: 'unwatch'; readonly id: number}
  /** Acknowledges changes of this many bytes. */
  | {readonly kind: 'received'; readonly id: number; readonly bytes: number};

/** Messages from the thread that owns the store. */
export type FromStore =
  | {readonly kind: 'answer'; readonly id: number; readonly value: unknown}
  | {readonly kind: 'failure'; readonly id: number; readonly error: PlainError}
  | {readonly kind: 'changes'; readonly id: number; readonly batch: readonly Change[]; readonly bytes: number}
  | {readonly kind: 'progress'; readonly id: number; readonly revision: number}
  | {readonly kind: 'ended'; readonly id: number; readonly error: PlainError | undefined}
  /** The data of the store were replaced. */
  | {readonly kind: 'replaced'};

/** An error in a form that can be posted. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  /** The revision of `Compacted` and `FutureRevision`. */
  readonly revision?: number;
  /** The record of `ValueUnreadable`. */
  readonly record?: Pick<ValueUnreadable, 'step'> & {readonly key?: string; readonly revision?: number};
}

export const plainError = (error: unknown): PlainError => {
  const {name, message} = error instanceof Error ? error : new Error(String(error));
  if (error instanceof Compacted) return {name, message, revision: error.compacted};
  if (error instanceof ValueUnreadable) {
    const {key, revision, step} = error;
    return {name, message, record: {step, ...(key === undefined ? {} : {key}), ...(revision === undefined ? {} : {revision})}};
  }
  return error instanceof FutureRevision ? {name, message, revision: error.current} : {name, message};
};

const errorsByName: Readonly<Record<string, (error: PlainError) => Error>> = {
  KeyExists: ({message}) => new KeyExists(message),
  RevisionMismatch: ({message}) => new RevisionMismatch(message),
  LeaseNotFound: ({message}) => new LeaseNotFound(message),
  StoreClosed: () => new StoreClosed(),
  StoreFull: () => new StoreFull(),
  Compacted: ({revision = 0}) => new Compacted(revision),
  FutureRevision: ({revision = 0}) => new FutureRevision(revision),
  TypeError: ({message}) => new TypeError(message),
  RangeError: ({message}) => new RangeError(message),
  ValueTooLarge: ({message}) => new ValueTooLarge(message),
  ValueUnreadable: ({message, record}) => new ValueUnreadable(message, record),
  StoreTimeout: ({message}) => new StoreTimeout(message),
};

/** Returns the error, as an instance of the store's error class if it has one. */
export const errorOf = (error: PlainError): Error =>
  Object.hasOwn(errorsByName, error.name) ? errorsByName[error.name]!(error) : new Error(error.message);

/** Returns a record for posting, with a copy of its bytes rather than their shared memory. */
export const sendable = (record: StoredRecord): StoredRecord => ({...record, value: new Uint8Array(record.value) as Buffer});

/** Returns a received record with a Buffer value. */
export const received = (record: StoredRecord): StoredRecord => ({...record, value: bufferOf(record.value)});

export const bufferOf = ({buffer, byteOffset, byteLength}: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

export type CallResult<Name extends StoreCall> = Awaited<ReturnType<Store[Name]>>;

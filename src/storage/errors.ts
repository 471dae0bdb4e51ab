/** A create of a key that exists. */
export class KeyExists extends Error {
  override readonly name = 'KeyExists';
}

/** An update or deletion of a record that has changed or is gone. */
export class RevisionMismatch extends Error {
  override readonly name = 'RevisionMismatch';
}

/** A read of compacted history; `compacted` is the revision up to which it is gone. */
export class Compacted extends Error {
  override readonly name = 'Compacted';
  readonly compacted: number;
  constructor(compacted: number) {
    super(`history up to revision ${compacted} is compacted`);
    this.compacted = compacted;
  }
}

/** A read at a revision the store has not reached; `current` is the newest. */
export class FutureRevision extends Error {
  override readonly name = 'FutureRevision';
  readonly current: number;
  constructor(current: number) {
    super(`the newest revision is ${current}`);
    this.current = current;
  }
}

/** A write under a lease that has expired or never existed. */
export class LeaseNotFound extends Error {
  override readonly name = 'LeaseNotFound';
}

/** A value beyond the store's limit. Nothing was written. */
export class ValueTooLarge extends Error {
  override readonly name = 'ValueTooLarge';
  /** Returns the error of a store with a limit of its own. */
  static beyond(limit: number, length: number): ValueTooLarge {
    return new ValueTooLarge(`request is too large: ${length} bytes, and the store takes ${limit}`);
  }
}

/**
 * What failed: the decryption of a value, reading what it holds, or the checksum of the record, whose bytes are not
 * those that were written.
 */
type UnreadableStep = 'transform' | 'decode' | 'checksum';

interface UnreadableRecord {
  readonly key: string;
  readonly revision: number;
  readonly step: UnreadableStep;
}

/**
 * A value that cannot be read: its checksum does not match, it cannot be decoded or decrypted, or it cannot be
 * encrypted, as keys are missing or the key management service is out of reach.
 */
export class ValueUnreadable extends Error {
  override readonly name = 'ValueUnreadable';
  /** The record's, if one was read. */
  readonly key: string | undefined;
  readonly revision: number | undefined;
  readonly step: UnreadableStep;
  constructor(message: string, {key, revision, step = 'transform', ...options}: ErrorOptions & Partial<UnreadableRecord> = {}) {
    super(message, options);
    this.key = key;
    this.revision = revision;
    this.step = step;
  }

  /** Returns the error of a record whose bytes are not those that were written. */
  static damaged(key: string, revision: number): ValueUnreadable {
    return new ValueUnreadable(`the record of ${JSON.stringify(key)} at revision ${revision} is damaged`, {
      key,
      revision,
      step: 'checksum',
    });
  }
}

/** The store cannot be opened by this process; the message is one line for the user. */
export class StoreUnusable extends Error {
  override readonly name = 'StoreUnusable';
}

/** A write that found no space. Nothing was written; reads go on. */
export class StoreFull extends Error {
  override readonly name = 'StoreFull';
  constructor(options?: ErrorOptions) {
    super('the store cannot write: no space is left for its data', options);
  }
}

/** No answer of the store's servers in time. Whether a write took effect is unknown. */
export class StoreTimeout extends Error {
  override readonly name = 'StoreTimeout';
}

export class StoreClosed extends Error {
  override readonly name = 'StoreClosed';
  constructor() {
    super('the store is closed');
  }
}

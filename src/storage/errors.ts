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

/** A value that cannot be decrypted, or encrypted: keys are missing, or the key management service is out of reach. */
export class ValueUnreadable extends Error {
  override readonly name = 'ValueUnreadable';
  /** That of the record, if it was read. */
  readonly revision: number | undefined;
  constructor(message: string, {revision, ...options}: ErrorOptions & {readonly revision?: number} = {}) {
    super(message, options);
    this.revision = revision;
  }
}

/** The store cannot be opened by this process; the message is one line for the user. */
export class StoreUnusable extends Error {
  override readonly name = 'StoreUnusable';
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

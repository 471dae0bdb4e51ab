/** How much of a request its audit events contain. */
export type AuditLevel = 'Metadata' | 'Request' | 'RequestResponse';

/** The metadata of a request's object that completes the reference in its audit events. */
export interface AuditedMeta {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** Notes in a form that messages between threads can contain. */
export interface PlainNotes {
  readonly annotations: readonly (readonly [key: string, text: string])[];
  readonly meta: AuditedMeta | undefined;
  /** One line of JSON each. */
  readonly requestObject: Uint8Array | undefined;
  readonly responseObject: Uint8Array | undefined;
}

/** Collects what the steps and handlers of a request add to its audit events. */
export interface AuditNotes {
  readonly level: AuditLevel;
  /** Whether the managed fields of objects are left out. */
  readonly omitsManagedFields: boolean;
  /** Adds an annotation, from level `least` on. The first value of a key stays. */
  annotate(key: string, text: string, least?: AuditLevel): void;
  /**
   * Records the object of the request. `json` is called only if the events contain it; it returns one line of JSON, or
   * undefined if there is none.
   */
  requested(meta: AuditedMeta | undefined, json: () => Buffer | undefined): void;
  /** Adds the notes that another thread made. */
  add(notes: PlainNotes): void;
}

const ranks: Readonly<Record<AuditLevel, number>> = {Metadata: 1, Request: 2, RequestResponse: 3};

/** Whether events of a level contain what is recorded from level `least` on. */
export const includes = (level: AuditLevel, least: AuditLevel): boolean => ranks[level] >= ranks[least];

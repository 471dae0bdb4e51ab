/** The two directions of values. */
export type Direction = 'from_storage' | 'to_storage';

/** Observes the use of one key management service, for metrics. */
export interface KmsObserver {
  /** A value is encrypted or decrypted. */
  arrived(direction: Direction): void;
  /** The key of this id encrypted or decrypted a value. */
  used(direction: Direction, keyId: string): void;
  /** The service reported the key of this id. */
  reported(keyId: string): void;
  /** The service reported a key id that cannot be used. */
  refused(problem: 'empty' | 'too_long'): void;
  /** A procedure of the service was called. */
  called(method: string, ms: number, error?: unknown): void;
  /** The number of decrypted keys that are kept, and its share of the limit. */
  kept(keys: number, share?: number): void;
}

/** Observes nothing. */
export const noKmsObserver: KmsObserver = {arrived() {}, used() {}, reported() {}, refused() {}, called() {}, kept() {}};

export interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

/** What one request proves itself with. */
export interface Proof {
  /** Header names and values; a name may come several times. */
  readonly headers: readonly (readonly [string, string])[];
  /** A client certificate that came from a plug-in. */
  readonly pair?: ClientPair;
}

/** The credentials of a connection, fresh at every request. */
export interface CredentialSource {
  proof(): Proof | Promise<Proof>;
  /** The server did not accept what was last given: forget everything cached. */
  reset(): void;
}

export interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

/** The credentials of one request. */
export interface RequestCredentials {
  /** Header names and values; a name may come several times. */
  readonly headers: readonly (readonly [string, string])[];
  /** A client certificate that came from a plug-in. */
  readonly pair?: ClientPair;
}

/** A source of credentials, asked for each request. */
export interface CredentialSource {
  proof(): RequestCredentials | Promise<RequestCredentials>;
  /** Called when the server rejected the last credentials: discards everything cached. */
  reset(): void;
}

/** Whether credentials are the same: a server that has rejected the ones rejects the others. */
export const sameCredentials = (one: RequestCredentials, other: RequestCredentials): boolean =>
  one.pair?.cert === other.pair?.cert && JSON.stringify(one.headers) === JSON.stringify(other.headers);

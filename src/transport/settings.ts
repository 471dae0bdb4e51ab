/** Content that is given, or read from a file whenever it is needed. */
export type Material = {readonly data: string} | {readonly file: string};

/** How the server is known. */
export interface ServerTrust {
  /** The authorities that vouch for it; the system's when absent. */
  readonly ca?: Material;
  /** The name its certificate must carry, if not the one it is reached by. */
  readonly serverName?: string;
  /** Whoever answers is believed. */
  readonly insecure?: boolean;
}

/** Whom every request is to be taken for, beside the user the credentials prove. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** How to prove who we are. */
export interface ClientIdentity {
  readonly certificate?: {readonly cert: Material; readonly key: Material};
  readonly token?: string;
  /** Read again while running; wins over `token`. */
  readonly tokenFile?: string;
  readonly basic?: {readonly username: string; readonly password: string};
  readonly impersonate?: Impersonation;
  /** Users who are proved by a plug-in (exec, OIDC): the settings' text and context, for the library that knows how. */
  readonly plugin?: {readonly text: string; readonly context: string};
}

/** Where an API server is and how to talk to it. */
export interface ConnectionSettings {
  /** Scheme, host and port, with a path where it is served under one. */
  readonly server: string;
  readonly trust: ServerTrust;
  readonly identity: ClientIdentity;
  readonly proxyUrl?: string;
  /** The context's namespace. */
  readonly namespace?: string;
  /** Where this was read, for messages. */
  readonly source: string;
}

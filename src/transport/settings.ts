import type {Naming} from '#src/api/naming.js';

/** Content that is given, or read from a file whenever it is needed. */
export type Material = {readonly data: string} | {readonly file: string};

/** How the server is verified. */
export interface ServerTrust {
  /** The trusted authorities; the system's when absent. */
  readonly ca?: Material;
  /** The name its certificate must carry, if not the one it is reached by. */
  readonly serverName?: string;
  /** Skips verification. */
  readonly insecure?: boolean;
}

/** The impersonated user of every request. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The client's credentials. */
export interface ClientIdentity {
  readonly certificate?: {readonly cert: Material; readonly key: Material};
  readonly token?: string;
  /** Read again while running; wins over `token`. */
  readonly tokenFile?: string;
  readonly basic?: {readonly username: string; readonly password: string};
  readonly impersonate?: Impersonation;
  /** A credential plugin: a program, or an OpenID Connect provider. */
  readonly plugin?: ExecPlugin | OidcProvider;
}

/** The server that a plugin is told of when it asks for that. */
export interface ExecCluster {
  readonly server: string;
  readonly trust: ServerTrust;
  readonly proxyUrl?: string;
  /** What the extension for plugins of the cluster's entry holds. */
  readonly config?: unknown;
}

/** A program that prints credentials (client authentication API, ExecCredential). */
export interface ExecPlugin {
  readonly kind: 'exec';
  readonly apiVersion: string;
  /** The vocabulary its API version is in. */
  readonly naming: Naming;
  /** As it is run: a name on the PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [string, string])[];
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always';
  readonly installHint: string;
  readonly cluster?: ExecCluster;
}

/** A user who is known to an OpenID Connect provider (`auth-provider` named `oidc`). */
export interface OidcProvider {
  readonly kind: 'oidc';
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly idToken: string;
  readonly refreshToken: string;
  readonly ca?: Material;
}

/** The connection settings of an API server. */
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

// The connection settings of a client, as they result from a kubeconfig, flags or a pod's environment. Only types:
// nothing is read or resolved here.

import type {Naming} from '#src/api/naming.js';

/** Content that is given, or read from a file on each use. */
export type Material = {readonly data: string} | {readonly file: string};

/** How the server is verified. */
export interface ServerTrust {
  /** The trusted CAs; by default the system's. */
  readonly ca?: Material;
  /** The name that its certificate must have, if not the host. */
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
  /** Read again while running; takes precedence over `token`. */
  readonly tokenFile?: string;
  readonly basic?: {readonly username: string; readonly password: string};
  readonly impersonate?: Impersonation;
  /** A credential plugin: a program, or an OpenID Connect provider. */
  readonly plugin?: ExecPlugin | OidcProvider;
}

/** The server's data for plugins that request it (`provideClusterInfo`). */
export interface ExecCluster {
  readonly server: string;
  readonly trust: ServerTrust;
  readonly proxyUrl?: string;
  /** The plugin extension of the cluster's entry. */
  readonly config?: unknown;
}

/** A program that prints credentials (client authentication API, ExecCredential). */
export interface ExecPlugin {
  readonly kind: 'exec';
  readonly apiVersion: string;
  /** The naming of its API version. */
  readonly naming: Naming;
  /** The executable: a name on the PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [string, string])[];
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always';
  readonly installHint: string;
  readonly cluster?: ExecCluster;
}

/** A user of an OpenID Connect provider (`auth-provider` named `oidc`). */
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
  /** Scheme, host and port, and optionally a base path. */
  readonly server: string;
  readonly trust: ServerTrust;
  readonly identity: ClientIdentity;
  readonly proxyUrl?: string;
  /** The namespace of the context, or of the pod. */
  readonly namespace?: string;
  /** The source, for messages. */
  readonly source: string;
}

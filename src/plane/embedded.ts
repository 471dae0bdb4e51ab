import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {Client} from '#src/client/client.js';
import type {Manifest} from './manifests/read.js';
import type {PlaneOptions} from './options.js';

/** What a server on this machine proves itself with to callers that trust the plane's authority, and where that lies. */
export interface ServingPair {
  /** The folder of `tls.crt` and `tls.key`, as servers of webhooks look for them. */
  readonly directory: string;
  /** The certificate and its key, in PEM. */
  readonly certificate: string;
  readonly key: string;
  /** Whom callers shall trust: the plane's authority in PEM, in base64. */
  readonly caBundle: string;
}

/** A control plane that runs, as those see it who embed it. */
export interface Plane extends AsyncDisposable {
  readonly naming: Naming;
  /** `https://host:port`; empty when it does not listen. */
  readonly url: string;
  /** The administrator's connection settings, as YAML; empty when it does not listen. */
  readonly kubeconfig: string;
  /** A client in this process that acts as the administrator, or as whoever is given. */
  client(user?: UserInfo): Client;
  /**
   * Applies files or folders of YAML or JSON, or objects, as the field manager `plat`: namespaces and definitions of custom resources first, the rest
   * once those are served. Rejects with one line that names file, document and field. Resolves to the objects in the order they are written.
   */
  apply(manifests: Manifest | readonly Manifest[], options?: Pick<PlaneOptions, 'webhooks'>): Promise<KubeObject[]>;
  /** What a webhook on this machine serves with, so that the server trusts it under localhost and 127.0.0.1. */
  webhookPair(): Promise<ServingPair>;
  /** Rejects if the controllers stop on their own. */
  readonly failed: Promise<never>;
  /** Drains, closes the store and leaves nothing running. */
  stop(): Promise<void>;
}
